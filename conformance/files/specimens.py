"""Trees that have what goes wrong on the way, one thing each, so that a failure says what it is about."""

from conformance.files.tree import File, Folder, Link, Tree, tree_of

CONTENTS = tree_of(
    {"empty": b"", "binary": bytes(range(256)) * 5, "text": b"one\r\ntwo\n\xef\xbb\xbfthree", "zeros": bytes(9_000)}
)
"""What goes wrong where bytes are taken for text, or nothing for missing."""

MOST_BYTES_OF_A_NAME = 255

ODD_TREE = tree_of(
    {
        **dict.fromkeys(
            (
                "with blanks", " before", "after ", "it's", 'a "quote"', "back\\slash\\n", "new\nline", "\n", "tab\t",
                "-rf", "--help", ".dot", "..dots", "...", "*", "?[a-z]", "{a,b}", "$HOME", "`id`", "%s%n", "a;b&c|d",
                "~", "#", "CR\r", "\x01\x7f", "ä", "雪", "e\u0301", "\U0001f600", "x" * 255, "ä" * 127,
            ),
            b"odd",
        ),
        "-folder\n/it's/..deep/ä": bytes(range(256)),
        "empty file": b"",
        "empty folder": Folder(),
        " /empty/folders": Folder(),
    }
)  # fmt: skip
"""Names that a shell, a list of lines or an option parser would read as something else; no two differ in case only."""

ODD_FILES = Tree(
    {
        path: File(path)
        for path in ODD_TREE.entries
        # A draft beside a name of the full length has no room for a name of its own.
        if b"/" not in path
        and len(path) < MOST_BYTES_OF_A_NAME // 2
        and path not in {b"-folder\n", b"empty folder", b" "}
    }
)
"""The same names, of files alone."""

MANY_FILES = tree_of({f"folder/file-{number}": b"one of many" for number in range(1_010)})
"""Lists of files come in pages of a thousand from many backends."""

MODES_TREE = tree_of(
    {f"{kind}/{mode:04o}": File(b"#!/bin/sh\n", mode) for kind in "ab" for mode in (0o644, 0o755, 0o600, 0o700, 0o444)}
)

LINKS_TREE = tree_of(
    {
        "file": b"text",
        "folder/inner": b"inner",
        "to-file": Link(b"file"),
        "to-folder": Link(b"folder"),
        "folder/up": Link(b"../file"),
        "to-link": Link(b"to-file"),
        "dangling": Link(b"no/where"),
        "odd": Link(b"it's a\nlink"),
    }
)
"""Links that stay in the tree: one that leads out of it may be refused on its way to the host."""

LINKS_THAT_LEAD_OUT = tree_of({"absolute": Link(b"/no/where/at/all"), "folder/up": Link(b"../../../no/where")})

FOLLOWED_TREE = tree_of(
    {
        "file": b"text",
        "folder/inner": b"inner",
        "to-file": Link(b"file"),
        "to-link": Link(b"to-file"),
        "to-folder": Link(b"folder"),
    }
)
"""Links that lead to something inside the tree, without a loop."""

FOLLOWED = tree_of(
    {
        "file": b"text",
        "folder/inner": b"inner",
        "to-file": b"text",
        "to-link": b"text",
        "to-folder/inner": b"inner",
    }
)

"""Trees of files: as data, on the host's disk, in a sandbox, and the difference between two of them.

Everything here works below the folder that it is given. No link is ever followed, whoever made it.
"""

"""Who may run beside whom: many at once, or one alone."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator


class Turn:
    """The time of one check; `beside` says whether another ran in a part of it."""

    def __init__(self) -> None:
        self.beside = False


class Turns:
    """Gives out turns. One that is `alone` waits until nobody else has one, and keeps everybody else waiting."""

    def __init__(self) -> None:
        self._taken: list[Turn] = []
        self._alone = False
        self._waiting_alone = 0
        self._changed = asyncio.Condition()

    @contextlib.asynccontextmanager
    async def turn(self, *, alone: bool) -> AsyncGenerator[Turn]:
        """One turn, from when it is granted to the end of the block."""
        mine = Turn()
        async with self._changed:
            self._waiting_alone += alone
            try:
                await self._changed.wait_for(lambda: self._is_free(alone=alone))
            finally:
                self._waiting_alone -= alone
            self._alone = alone
            self._taken.append(mine)
            if len(self._taken) > 1:
                for turn in self._taken:
                    turn.beside = True
        try:
            yield mine
        finally:
            async with self._changed:
                self._taken.remove(mine)
                self._alone = False
                self._changed.notify_all()

    def _is_free(self, *, alone: bool) -> bool:
        if alone:
            return not self._taken
        # One that waits to be alone comes first, or a stream of others would keep it waiting for ever.
        return not self._alone and self._waiting_alone == 0

"""The contract of hosts, held by `Host` itself as a loop of one's own uses it."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from toolcharter.hosts import HostResult

from .contract import Adapter, Call, ForeignContract, SeenResult, SynchronousContract


class Loop(Adapter):
    """A loop that makes the calls of a turn at once."""

    async def run(self, calls: Sequence[Call]) -> list[SeenResult]:
        made = await asyncio.gather(*(self.host.acall(one.name, one.args, call_id=one.id) for one in calls))
        return [_seen(result) for result in made]

    async def answer(self, call: Call, *, granted: bool) -> SeenResult:
        asked = await self.host.acall(call.name, call.args, call_id=call.id)
        assert asked.pending is not None
        return _seen(await self.host.aanswer(asked.pending.state, "allow_once" if granted else "deny"))

    async def run_foreign(self, call: Call, output: str) -> SeenResult:
        async def body(_args: object) -> str:
            return output

        return _seen(await self.host.agovern(call.name, call.args, body, call_id=call.id))


class Threads(Adapter):
    """The same in synchronous code: a thread for each call of a turn."""

    async def run(self, calls: Sequence[Call]) -> list[SeenResult]:
        def made() -> list[HostResult]:
            with ThreadPoolExecutor(16) as pool:
                return [*pool.map(lambda one: self.host.call(one.name, one.args, call_id=one.id), calls)]

        return [_seen(result) for result in await asyncio.to_thread(made)]

    async def answer(self, call: Call, *, granted: bool) -> SeenResult:
        def answered() -> HostResult:
            asked = self.host.call(call.name, call.args, call_id=call.id)
            assert asked.pending is not None
            return self.host.answer(asked.pending.state, "allow_once" if granted else "deny")

        return _seen(await asyncio.to_thread(answered))

    async def run_foreign(self, call: Call, output: str) -> SeenResult:
        govern = self.host.govern
        return _seen(await asyncio.to_thread(govern, call.name, call.args, lambda _: output, call_id=call.id))


class TestBareHostInThreads(SynchronousContract, ForeignContract):
    """The contract compares them with calls of a single thread."""

    adapter = Threads


class TestBareHost(ForeignContract):
    """Sets what the others are compared with."""

    adapter = Loop


def _seen(result: HostResult) -> SeenResult:
    return SeenResult(result.text, result.is_error)

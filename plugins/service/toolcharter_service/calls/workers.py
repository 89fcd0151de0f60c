"""Whether another process that has begun a call is still there."""

from toolcharter_service.service import Service


async def is_alive(service: Service, worker: str) -> bool:
    """Whether *worker* has said lately that it is there: it holds the lease of its name.

    It counts as there, too, as long as this process could not say so of itself.

    Raises:
        StoreUnavailable: That cannot be found out.
    """
    if worker == service.worker or not service.steadiness.may_judge:
        return True
    store = service.store("").asynchronous()
    lease = await store.lease(f"worker/{worker}", holder=service.worker, ttl_s=1.0)
    if lease is None:
        return True
    await store.release(lease)
    return False

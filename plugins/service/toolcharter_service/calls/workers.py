"""Whether another process, which has begun a call, is still alive."""

from toolcharter_service.service import Service


async def is_worker_alive(service: Service, worker: str) -> bool:
    """Whether *worker* still renews its heartbeat, the lease of its name.

    It also counts as alive while this process cannot renew its own heartbeat reliably.

    Raises:
        StoreUnavailable: The store does not answer.
    """
    if worker == service.worker or not service.heartbeat.may_declare_dead:
        return True
    store = service.store("").asynchronous()
    lease = await store.lease(f"worker/{worker}", holder=service.worker, ttl_s=1.0)
    if lease is None:
        return True
    await store.release(lease)
    return False

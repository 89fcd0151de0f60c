"""Rate limits: how many calls may enter a tool in a minute, in an hour and in a session.

A minute and an hour are sliding windows: there is no span of 60 s, or of 3600 s, in which more calls enter than the
limit says. All limits that concern a call are looked at and taken in one step: what one of them refuses is counted by
none. Counts live in this process, or in a Redis that several processes share; a Redis that gives no answer denies.
"""

from toolcharter.guards.rates.answers import Answer, Keys, Refused, Unavailable
from toolcharter.guards.rates.binding import BoundLimits, RateLimits

__all__ = ["Answer", "BoundLimits", "Keys", "RateLimits", "Refused", "Unavailable"]

"""Rate limits: how many calls may enter a tool in a minute, in an hour and in a session.

The minute and the hour are sliding windows: in no span of 60 s or 3600 s may more calls enter than the limit allows.
All limits that apply to a call are checked and counted in one step: if one of them refuses the call, no limit counts
it. The counts are kept in this process, or in a Redis that several processes share. If the Redis does not answer, the
call is denied.
"""

from toolcharter.guards.rates.answers import Answer, RateKeys, Refused, Unavailable
from toolcharter.guards.rates.binding import BoundLimits, RateLimits

__all__ = ["Answer", "BoundLimits", "RateKeys", "RateLimits", "Refused", "Unavailable"]

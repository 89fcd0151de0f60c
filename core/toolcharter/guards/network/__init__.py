"""The network guard: decides which URLs and addresses may be reached, and connects to nothing else.

`urls`, `hosts`, `addresses` and `checks` are pure and take time linear in the URL. The other modules
open connections and need the extra `toolcharter[http]`, which the first connection imports.
"""

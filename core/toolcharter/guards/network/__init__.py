"""The network guard: which URLs and addresses may be reached, and connections to nothing else.

`urls`, `hosts`, `addresses` and `judge` are pure and take time linear in the URL; the others open
connections and need the extra `toolcharter[http]`, which is imported when the first one is made.
"""

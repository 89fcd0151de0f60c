"""The Lua scripts that Redis runs atomically: they commit a transaction, change leases, and swap in new content."""

COMMIT = """
-- KEYS: the scope's facts, its set of parts, the count of all writes, the lock, the set of scopes.
-- ARGV: how many writes were seen, or '' for whatever they are; the token of the lock, or ''; the scope; the number of leases,
-- then for each: key, holder, number; then the commands: how many words, the words.
-- Returns the new count of writes; -1 if others wrote, -2 if the lock is held, -3 if a lease was lost.
local lock = redis.call('GET', KEYS[4])
if lock and lock ~= ARGV[2] then return -2 end
if ARGV[1] ~= '' and (redis.call('HGET', KEYS[1], 'writes') or '0') ~= ARGV[1] then return -1 end
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local at = 5
for _ = 1, tonumber(ARGV[4]) do
    local held = redis.call('HMGET', ARGV[at], 'holder', 'fence', 'expires')
    if held[1] ~= ARGV[at + 1] or held[2] ~= ARGV[at + 2] or tonumber(held[3] or 0) <= now then return -3 end
    at = at + 3
end
while at <= #ARGV do
    local count = tonumber(ARGV[at])
    redis.call(unpack(ARGV, at + 1, at + count))
    at = at + count + 1
end
redis.call('SADD', KEYS[5], ARGV[3])
redis.call('SADD', KEYS[2], KEYS[1])
redis.call('INCR', KEYS[3])
return redis.call('HINCRBY', KEYS[1], 'writes', 1)
"""

LEASE = """
-- KEYS: the lease, the set of leases, the set of scopes. ARGV: what to do, holder, number, seconds, name, scope.
-- Returns {number, end}, or nothing if another holder has it.
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local held = redis.call('HMGET', KEYS[1], 'holder', 'fence', 'expires')
local fence, is_free = tonumber(held[2] or 0), tonumber(held[3] or 0) <= now
local is_mine = held[1] == ARGV[2]
if ARGV[1] == 'take' then
    if not is_free and not is_mine then return false end
    if is_free or not is_mine then fence = fence + 1 end
elseif not is_mine or held[2] ~= ARGV[3] then
    return false
elseif ARGV[1] == 'release' then
    redis.call('HSET', KEYS[1], 'holder', '', 'expires', '0')
    return {fence, '0'}
end
local expires = string.format('%.6f', now + tonumber(ARGV[4]))
redis.call('HSET', KEYS[1], 'holder', ARGV[2], 'fence', string.format('%.0f', fence), 'expires', expires)
redis.call('SADD', KEYS[2], ARGV[5])
redis.call('SADD', KEYS[3], ARGV[6])
return {fence, expires}
"""

FORGET = """
-- KEYS: the deletions, the changes, the facts of a scope. ARGV: how many deletions are kept.
local count = redis.call('ZCARD', KEYS[1]) - tonumber(ARGV[1])
if count <= 0 then return 0 end
local oldest = redis.call('ZRANGE', KEYS[1], 0, count - 1, 'WITHSCORES')
for i = 1, #oldest, 2 do redis.call('ZREM', KEYS[2], oldest[i]) end
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, count - 1)
redis.call('HSET', KEYS[3], 'forgotten', oldest[#oldest])
return count
"""

LOOK = """
-- KEYS: the set of registered tools, the digests of those that are indexed. ARGV: what each document's name begins with.
-- Returns the members whose document is another one than was indexed, and what was indexed and is no member any more.
local indexed = redis.call('HGETALL', KEYS[2])
local digests, other, gone = {}, {}, {}
for at = 1, #indexed, 2 do digests[indexed[at]] = indexed[at + 1] end
for _, member in ipairs(redis.call('SMEMBERS', KEYS[1])) do
    local document, digest = redis.pcall('GET', ARGV[1] .. member), ''
    if type(document) == 'string' then digest = redis.sha1hex(document) end
    if digests[member] ~= digest then other[#other + 1] = member end
    digests[member] = nil
end
for member in pairs(digests) do gone[#gone + 1] = member end
return {other, gone}
"""

SWAP = """
-- KEYS: the lock, the lists of new and of old keys, the count of all writes, the set of scopes.
-- ARGV: the token of the lock; what new keys begin with; the number of leases, then for each: key, set of leases, name, number;
-- then for each scope: facts, number of the latest change, scope. Returns 1; 0 if the lock was lost.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local function each(list, act)
    for first = 0, redis.call('LLEN', list) - 1, 1000 do
        for _, key in ipairs(redis.call('LRANGE', list, first, first + 999)) do act(key) end
    end
end
each(KEYS[3], function(key) redis.call('UNLINK', key) end)
each(KEYS[2], function(key) redis.call('RENAME', ARGV[2] .. key, key) end)
redis.call('DEL', KEYS[2], KEYS[3])
local at = 4
for _ = 1, tonumber(ARGV[3]) do
    local fence = math.max(tonumber(redis.call('HGET', ARGV[at], 'fence') or 0), tonumber(ARGV[at + 3]))
    redis.call('HSET', ARGV[at], 'holder', '', 'fence', string.format('%.0f', fence), 'expires', '0')
    redis.call('SADD', ARGV[at + 1], ARGV[at + 2])
    at = at + 4
end
while at <= #ARGV do
    redis.call('HSET', ARGV[at], 'seq', ARGV[at + 1], 'forgotten', ARGV[at + 1])
    redis.call('HINCRBY', ARGV[at], 'writes', 1)
    redis.call('SADD', KEYS[5], ARGV[at + 2])
    at = at + 3
end
redis.call('INCR', KEYS[4])
return 1
"""

UNLOCK = """
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
"""

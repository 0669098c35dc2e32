-- Reports the holder of the resource; changes nothing.
--
-- KEYS: the resource. Returns nil: no holder; or the key's remaining life in ms (-1: it never
-- ends), a space, and "s" and the value, or "t" and the type of the key if it is not a string.
--
-- A script, so that life and value are of one moment. The value, which may be of any origin and
-- size, is cut here, at 106 bytes (RL_HOLDER_TEXT_MAX).
local t = redis.call('type', KEYS[1]).ok
if t == 'none' then return false end
local p = string.format('%.0f ', redis.call('pttl', KEYS[1]))
if t == 'string' then
    return p .. 's' .. redis.call('getrange', KEYS[1], 0, 105)
end
return p .. 't' .. t

-- Any number of resources: sets every key that is free, reserved for nobody or for this place, or
-- has this value already; or no key at all.
--
-- KEYS: the resources. ARGV: the value, its life in ms, the place. Returns "1 W F 0": so many wait
-- in the lines of these resources here, writers and readers, and the first of them for F ms; or
-- "0 I LIFE": the first resource that refuses, counted from 1, and its key's life in ms (-1: for
-- ever).
--
-- It is a vote, as SET NX is one. What may it overwrite? A reservation, which nobody relies on: it
-- was written by a release, in place of a token that its owner had given up, and is no vote and no
-- grant. It is "reserved", or "reserved:" and a place; no token begins so, tokens being hex digits.
-- One for another place refuses, which safety does not need, but order does; unless the place is
-- 32 times "*": clients that do not agree on who keeps the line, and so are each first in one, get
-- past each other's reservations by it. And its own key, whose life it prolongs to what is asked
-- for (a reservation's short life ends with the reservation: SET gives the key a life of its own),
-- and never shortens: a vote that was counted before stands as long as it was counted on.
--
-- Can it leave a part of itself behind? All keys are looked at before the first is set, so that an
-- error (a key of another type: WRONGTYPE) finds nothing set. What follows the first SET cannot
-- fail by itself: a server that may not write, or is full, says so to the first command that
-- writes. What is counted afterwards raises no error.
-- include: part_count.lua
local n, p = #KEYS, ARGV[3]
-- include: part_may_take.lua
for i = 1, n do
    -- include: part_take_key.lua
    count('libredlock:line:{' .. KEYS[i] .. '}')
    count('libredlock:line:shared:{' .. KEYS[i] .. '}')
end
return string.format('1 %.0f %.0f 0', w, f)

-- Some slots of a semaphore: as take.lua, if so many permits are agreed on.
--
-- KEYS: the slots. ARGV: the value, its life in ms, the place, how many permits there are, the
-- resource. Returns "1 W F 0": so many wait for permits here, and the first of them for F
-- ms; "0 I LIFE": the first slot that refuses, counted from 1, and its key's life in ms; or the
-- error PERMITS: another number is kept here, and slots are in use.
--
-- It is a vote for each slot, as take.lua is one for a key: what may be overwritten is said there.
-- All keys are looked at before the first is set. Where no slot is held or reserved the number is
-- taken over, for a day from now on.
-- include: part_permit.lua
-- include: part_count.lua
local n, p = #KEYS, ARGV[3]
local e = disagree(tonumber(ARGV[4]))
if e then return e end
-- include: part_may_take.lua
for i = 1, n do
    -- include: part_take_key.lua
end
keep(ARGV[4])
count(l)
return string.format('1 %.0f %.0f 0', w, f)

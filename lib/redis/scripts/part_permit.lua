-- Shared by the scripts of a semaphore. The last of ARGV is its resource, r.
--
-- pk: the key of the number of permits; the slots 0 to k - 1 have keys as locks do. l: the line of
-- the waiters for permits.
local r = ARGV[#ARGV]
local pk, l = 'libredlock:permits:{' .. r .. '}', 'libredlock:line:permits:{' .. r .. '}'
local function slot(i)
    return 'libredlock:slot:' .. i .. ':{' .. r .. '}'
end
local function slots(k)
    local names = {}
    for i = 1, k do names[i] = slot(i - 1) end
    return unpack(names)
end
-- kept: the number of permits that this node keeps; k, if it keeps none.
local function kept(k)
    return math.min(tonumber(redis.pcall('get', pk)) or tonumber(k), 1024)
end
-- disagree: returns an error if this node keeps another number than k and any slot is held or
-- reserved, even one above both numbers, since the number may have been larger before. Checks the
-- slots below the kept number first, since the names of 1,024 slots take a hundred times as long to
-- make as the rest.
local function disagree(k)
    local has = tonumber(redis.call('get', pk))
    if not has or has == k then return false end
    if redis.call('exists', slots(math.max(1, math.min(has, 1024)))) == 0 and
        redis.call('exists', slots(1024)) == 0 then
        return false
    end
    local text = 'PERMITS this semaphore has %.0f permits, not %.0f'
    return redis.error_reply(string.format(text, has, k))
end
local function keep(k)
    redis.call('set', pk, k, 'PX', 86400000)
end

-- The place gets its turn, or stays in line. May be sent again and again.
--
-- KEYS: the resource, or the permits' key. ARGV: the place, the holder's name ("": none), for how
-- long it has waited and the life of a reservation, both in ms. Of a semaphore then the slot from
-- which on to look for free ones ("": those that are reserved for it already, or any), and "1" if it
-- only peeks: it will hear nothing and does not stay in line ("" for locks); and the mode as in
-- take.lua. Returns "1": it is its turn, the key is reserved for it, or for readers, and it is out
-- of the line; of a semaphore "1 S1 .. Sm", the slots that are reserved for it. Or "0 RANK LIFE": so
-- many are before it, and the life in ms of the key, or of the slot that ends first (-1: none ends;
-- 0: there is no key, or there are free slots; where others read at least 1000, since that is not a
-- reservation which soon ends). Or the error PERMITS, as take.lua.
--
-- Can it take a lock away? No: it writes to a key only where there is none, or a reservation for
-- nobody, for this place, or for readers. A key of another type is an error, before anything is
-- written.
--
-- The first in line, by its score, keeps its place as it came: an answer that was lost and a JOIN
-- that comes twice change nothing. Places before it whose clients are gone are dropped, at most 16,
-- and those that this client has left where its LEAVE did not arrive. (A peek leaves them: another
-- lock of its client may stand there. Of a semaphore only those that want as many.) If the key is
-- free and one before it lives, that one is served; and before all writers readers that have waited
-- longer. Asked to look elsewhere a place gives up what is reserved for it: other nodes refused it.
--
-- A reader gets a yes if the key is reserved for readers; or if it is free, or shared, and no living
-- writer has waited longer. So a stream of readers lets every writer in, and a reader that waits
-- lets one writer in at most: it is served when that one goes (release_line.lua). With a yes all
-- others that wait to read come, too; only where the key is shared and a writer waits none but this
-- one. If the key is free and a writer has waited longer, the writer is served.
-- include: part_line.lua
local k, p, ms, mode = KEYS[1], ARGV[1], ARGV[4], ARGV[7] or ''
local me, mine = ARGV[2] == '' and p or p .. ':' .. ARGV[2], 'reserved:' .. p
local was, yes
-- gone: whether nobody listens on the channel of the place's client.
local function gone(m)
    local c = 'libredlock:client:' .. string.sub(m, 1, 16)
    return redis.pcall('pubsub', 'numsub', c)[2] == 0
end
-- stay: puts the place into the line, unless it stands there.
local function stay(l)
    local t = redis.call('time')
    local s = string.format('%.0f', t[1] * 1000000 + t[2] - ARGV[3] * 1000)
    redis.call('zadd', l, 'nx', s, me)
    redis.call('pexpire', l, 600000)
end
if mode == '' or mode == 'shared' then
    -- include: part_serve.lua
    local v = redis.call('get', k)
    local is, free = v == 'redlock:shared', not v or v == 'reserved'
    local l, q = 'libredlock:line:{' .. k .. '}', 'libredlock:line:shared:{' .. k .. '}'
    if mode == 'shared' then l, q = q, l end
    was = first(l)
    if mode == '' then
        yes = v == mine
        if not yes then
            stay(l)
            local r = free and redis.pcall('zrange', q, 0, 0, 'withscores')
            if r and r[2] then
                local w = redis.pcall('zrange', l, 0, 0, 'withscores')
                if w[2] and tonumber(r[2]) < tonumber(w[2]) and serve_shared(k, ms) then
                    free = false
                end
            end
            for i = 1, 16 do
                local m = first(l)
                if not m or m == me then
                    yes = free
                    break
                end
                if string.sub(m, 1, 16) == string.sub(p, 1, 16) then
                    redis.call('zrem', l, m)
                elseif free then
                    redis.call('zrem', l, m)
                    if tell(m, 'turn') then
                        redis.call('set', k, 'reserved:' .. string.sub(m, 1, 32), 'PX', ms)
                        break
                    end
                else
                    if not gone(m) then break end
                    redis.call('zrem', l, m)
                end
            end
        end
        if yes then
            redis.call('set', k, mine, 'PX', ms)
            redis.call('zrem', l, me)
        end
    else
        local wrote = first(q)
        stay(l)
        for i = 1, 16 do
            local m = first(l)
            if not m or m == me then break end
            if string.sub(m, 1, 16) ~= string.sub(p, 1, 16) and not gone(m) then break end
            redis.call('zrem', l, m)
        end
        local w
        for i = 1, 16 do
            w = first(q)
            if not w or not gone(w) then break end
            redis.pcall('zrem', q, w)
            w = first(q)
        end
        local s = w and redis.pcall('zscore', q, w)
        local before = type(s) ~= 'string' or tonumber(redis.call('zscore', l, me)) < tonumber(s)
        yes = v == 'reserved:shared' or before and (is or free)
        if free and not before and not serve(k, q, ms) then yes = true end
        if yes then
            redis.call('zrem', l, me)
            if free or not w then serve_shared(k, ms, is) end
            if not is then redis.call('set', k, 'reserved:shared', 'PX', ms) end
        end
        heir(q, wrote)
    end
    heir(l, was, me)
    if yes then return '1' end
    local left = redis.call('pttl', k)
    if left == -2 then left = 0 end
    if is then left = math.max(left, 1000) end
    return string.format('0 %.0f %.0f', redis.call('zrank', l, me) or 0, left)
end
-- include: part_permit.lua
-- include: part_permit_serve.lua
local n, from, peeks = wants(p), ARGV[5], ARGV[6] ~= ''
k = tonumber(mode)
local e = disagree(k)
if e then
    redis.pcall('zrem', l, me)
    return e
end
keep(mode)
local v, s = redis.call('mget', slots(k)), {}
was = first(l)
for i = 1, k do
    if from == '' and v[i] == mine then s[#s + 1] = i - 1 end
end
if #s ~= n then
    s = nil
    if not peeks then stay(l) end
    for i = 1, 16 do
        serve(v, k, ms, me)
        local m = first(l)
        if not m or m == me then
            s = pick(v, k, n, tonumber(from) or 0, mine)
            break
        end
        if (peeks or string.sub(m, 1, 18) ~= string.sub(p, 1, 18)) and not gone(m) then break end
        redis.call('zrem', l, m)
    end
end
if s then
    for i = 1, k do
        if v[i] == mine then
            redis.call('del', slot(i - 1))
            v[i] = false
        end
    end
    reserve(v, s, p, ms)
    redis.call('zrem', l, me)
    if from ~= '' then serve(v, k, ms) end
end
heir(l, was, me)
if s then return '1 ' .. table.concat(s, ' ') end
local left = 0
if not pick(v, k, n, 0, mine) then
    left = -1
    for i = 1, k do
        local t = redis.call('pttl', slot(i - 1))
        if t >= 0 and (left < 0 or t < left) then left = t end
    end
end
local rank = redis.call('zrank', l, me) or redis.call('zcard', l)
return string.format('0 %.0f %.0f', rank, left)

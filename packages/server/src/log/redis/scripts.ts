/**
 * `SCRIPTS` contains the Lua scripts of the Redis log. Each is one atomic step on the keys of one session, which share
 * a hash tag.
 *
 * Keys:
 * - the log: a stream; its name is also the channel for notifications;
 * - its head, `<epoch> <timeline> <writer>~<generation>`: the writer that may append, and how many of its tries had no
 *   answer;
 * - its base: the position right before the first entry;
 * - `:set-aside`: a log that a claim had to drop with entries that are not archived.
 * The first three always have the same time to live: `UNARCHIVED_TTL_MS` after a claim, less once the log is archived.
 *
 * The timeline is Redis's replication id. It changes when another or a restarted server answers, and then entries may
 * be missing. It is also part of each script's text, so a script has another SHA on each timeline. A server knows only
 * the scripts of its own timeline, because the script cache is neither saved nor replicated. So a command never runs on
 * a server that its sender doesn't know, not even behind a proxy that keeps connections over a failover.
 *
 * Invariants: a command that arrives late changes nothing, see decision 52. Scripts publish inside the atomic step, so
 * an event of a fenced writer is never published. They follow the same rules as `MemoryEngine` in `../memory.ts`;
 * change both together.
 */
import { hash } from "node:crypto";

export interface LoadableScript {
  readonly source: string;
  readonly sha: string;
}

/** Returns the script that only servers on this timeline know. */
export function scriptOn(timeline: string, script: string): LoadableScript {
  const source = `-- timeline ${timeline}${script}`;
  return { source, sha: hash("sha1", source) };
}

/** What follows the name of a log in the key under which it is set aside. */
export const SET_ASIDE = ":set-aside";

/** How many characters of a replication id are used. They distinguish two ids, and every append carries them. */
export const REPLICATION_ID_LENGTH = 12;

/** The normal append. One comparison is the whole fence, and Redis assigns the seq, so it is as cheap as possible. */
export const APPEND = `
-- KEYS log head; ARGV expected head, '<epoch>-*', lines. Returns the last id, or {'refused', head}.
local head = redis.call('GET', KEYS[2])
if head ~= ARGV[1] then return {'refused', head or ''} end
local id = redis.call('XADD', KEYS[1], 'NOMKSTREAM', ARGV[2], 'e', ARGV[3])
if not id then return {'refused', ''} end
if #ARGV == 3 then
  redis.call('SPUBLISH', KEYS[1], id .. '\\n' .. ARGV[3])
  return id
end
local first = id
for i = 4, #ARGV do id = redis.call('XADD', KEYS[1], ARGV[2], 'e', ARGV[i]) end
redis.call('SPUBLISH', KEYS[1], first .. '\\n' .. table.concat(ARGV, '\\n', 3))
return id
`;

/** The append for writers without an epoch, and for batches that may be in the log already. */
export const APPEND_WITH_LOOKBACK = `
-- KEYS log head base; ARGV head up to its generation ('' to join any epoch), generation, timeline, writer ('' to skip the
-- lookback), counter, since ('' to look back to the base), time to live, lines. Returns {'added' | 'found', last id},
-- {'refused', head} or {'unsure'}.
local head = redis.call('GET', KEYS[2])
if not head or redis.call('EXISTS', KEYS[1]) == 0 then return {'refused', ''} end
local epoch, timeline = string.match(head, '^(%d+) (%S+)')
local isOwn = false
if ARGV[1] == '' then
  isOwn = timeline == ARGV[3]
elseif string.sub(head, 1, #ARGV[1]) == ARGV[1] then
  local generation, mark = string.match(head, '^(%d+)(.*)$', #ARGV[1] + 1)
  isOwn = tonumber(generation) <= tonumber(ARGV[2])
  -- Before the search: if it finds the append, an earlier try of it may still arrive.
  if isOwn and generation ~= ARGV[2] then
    head = ARGV[1] .. ARGV[2] .. mark
    redis.call('SET', KEYS[2], head, 'KEEPTTL')
  end
end
local met = ARGV[4] == '' or ARGV[6] ~= ''
if ARGV[4] ~= '' then
  if ARGV[6] ~= '' then
    local be, bs = string.match(redis.call('GET', KEYS[3]) or '0-0', '^(%d+)-(%d+)$')
    local se, ss = string.match(ARGV[6], '^(%d+)-(%d+)$')
    be, bs, se, ss = tonumber(be), tonumber(bs), tonumber(se), tonumber(ss)
    if se < be or (se == be and ss < bs) then return {'unsure'} end
    -- The log ends before a position that was archived: it lost entries, and its next claim restarts it.
    local isAfterBase = se > be or ss > bs
    if isAfterBase and #redis.call('XRANGE', KEYS[1], ARGV[6], '+', 'COUNT', 1) == 0 then return {'refused', head} end
  end
  local mine, start = ARGV[4] .. ':', '+'
  local stop = ARGV[6] == '' and '-' or ARGV[6]
  while start do
    local page = redis.call('XREVRANGE', KEYS[1], start, stop, 'COUNT', 128)
    start = nil
    for _, entry in ipairs(page) do
      start = '(' .. entry[1]
      local line = entry[2][2]
      local counter = string.sub(line, 1, #mine) == mine and string.match(line, '^%d+', #mine + 1)
      if counter and string.sub(line, #mine + #counter + 1, #mine + #counter + 1) == ' ' then
        if counter == ARGV[5] then return {'found', entry[1]} end
        -- A writer's counter only increases, so an append before its newest one can't have this counter.
        start, met = nil, true
        break
      end
    end
  end
end
if not isOwn then return {'refused', head} end
-- Even the writer's own claim was trimmed, so entries that it wrote later may have been trimmed too.
if ARGV[1] ~= '' and not met then return {'unsure'} end
local awake = string.match(head, '^(.*) expiring$')
if awake then
  redis.call('SET', KEYS[2], awake, 'PX', ARGV[7])
  redis.call('PEXPIRE', KEYS[1], ARGV[7])
  redis.call('PEXPIRE', KEYS[3], ARGV[7])
end
local first, id
for i = 8, #ARGV do
  id = redis.call('XADD', KEYS[1], epoch .. '-*', 'e', ARGV[i])
  first = first or id
end
redis.call('SPUBLISH', KEYS[1], first .. '\\n' .. table.concat(ARGV, '\\n', 8))
return {'added', id}
`;

/** Takes over the log: writes the first entry of a new epoch and fences all earlier writers. */
export const CLAIM = `
-- KEYS log head base; ARGV epoch, timeline, writer, floor, line, '1' to only look, the position to follow (''
-- for any), time to live, that of a log that is set aside. Returns {'added' | 'found', id, whether a log is set aside},
-- {'outbid', epoch} or {'moved', the position that it would follow}.
local function position(id)
  local epoch, seq = string.match(id, '^(%d+)-(%d+)$')
  return tonumber(epoch), tonumber(seq)
end
local mine = ARGV[1] .. ' ' .. ARGV[2] .. ' ' .. ARGV[3] .. '~'
local head = redis.call('GET', KEYS[2])
local base = redis.call('GET', KEYS[3])
local exists = base and redis.call('EXISTS', KEYS[1]) == 1
local newest = exists and redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local last = exists and (newest and newest[1] or base)
local seen = 0
if head then seen = tonumber(string.match(head, '^%d+')) end
if last then seen = math.max(seen, (position(last))) end
if seen >= tonumber(ARGV[1]) then
  if last and head and string.sub(head, 1, #mine) == mine then
    local first = redis.call('XRANGE', KEYS[1], ARGV[1] .. '-0', '+', 'COUNT', 1)[1]
    if first then return {'found', first[1], redis.pcall('EXISTS', KEYS[1] .. '${SET_ASIDE}')} end
  end
  return {'outbid', string.format('%.0f', seen)}
end
if ARGV[6] == '1' then return {'outbid', string.format('%.0f', seen)} end
local function before(a, b)
  local ae, as = position(a)
  local be, bs = position(b)
  return ae < be or (ae == be and as < bs)
end
-- The log ends before the archived position, or starts after it: the log or the archive lost entries. Start an empty
-- log, otherwise the new entry would seem to follow the entries before the gap.
local starts = not last or before(last, ARGV[4]) or before(ARGV[4], base)
if starts then last = ARGV[4] end
if ARGV[7] ~= '' and ARGV[7] ~= last then return {'moved', last} end
-- First of all writes, because a Redis without memory refuses it, and nothing has changed then.
redis.call('SET', KEYS[2], mine .. '0', 'PX', ARGV[8])
local isSetAside = 0
if starts then
  if newest and before(ARGV[4], base) then
    -- Not one of KEYS: while a slot moves, Redis refuses a script with a key that doesn't exist.
    local setAside = KEYS[1] .. '${SET_ASIDE}'
    if redis.pcall('RENAME', KEYS[1], setAside).ok then isSetAside = redis.call('PEXPIRE', setAside, ARGV[9]) end
  end
  redis.call('DEL', KEYS[1])
  redis.call('SET', KEYS[3], ARGV[4], 'PX', ARGV[8])
else
  redis.call('PEXPIRE', KEYS[3], ARGV[8])
end
local _, seq = position(last)
local id = redis.call('XADD', KEYS[1], ARGV[1] .. '-' .. string.format('%.0f', seq + 1), 'e', ARGV[5])
redis.call('PEXPIRE', KEYS[1], ARGV[8])
redis.call('SPUBLISH', KEYS[1], last .. ' ' .. id .. '\\n' .. ARGV[5])
return {'added', id, isSetAside}
`;

export const HEAD = `
-- KEYS log head base. Returns {head, last id, base}, or {} if there is no log.
local head, base = redis.call('GET', KEYS[2]), redis.call('GET', KEYS[3])
if not head or not base or redis.call('EXISTS', KEYS[1]) == 0 then return {} end
local newest = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
return {head, newest and newest[1] or base, base}
`;

export const TRIM = `
-- KEYS log head base; ARGV position, the id right after it. Returns 1, or 0 if the position is not in the log.
if redis.call('GET', KEYS[3]) == ARGV[1] then return 1 end
if #redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1]) == 0 then return 0 end
redis.call('XTRIM', KEYS[1], 'MINID', '=', ARGV[2])
redis.call('SET', KEYS[3], ARGV[1], 'KEEPTTL')
return 1
`;

export const EXPIRE = `
-- KEYS log head base; ARGV archived position, milliseconds. Returns 1, or 0 if the log has later entries. Marks the
-- head as expiring: the normal append is then refused, and the append with lookback cancels the expiry.
local newest = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local last = newest and newest[1] or redis.call('GET', KEYS[3])
local head = redis.call('GET', KEYS[2])
if not head or last ~= ARGV[1] then return 0 end
-- Before the SET, which a Redis without memory refuses unless the script has written: expiry frees memory.
for n = 1, 3 do redis.call('PEXPIRE', KEYS[n], ARGV[2]) end
if not string.match(head, ' expiring$') then redis.call('SET', KEYS[2], head .. ' expiring', 'KEEPTTL') end
return 1
`;

/**
 * The health check of one process for all: the others read its result from the channel with the name of the key. Sent
 * as text, so that it needs no loading.
 */
export const PULSE = `
-- KEYS sentinel; ARGV token. Publishes and returns '<replication id> <code of a refused write, or -> <token, or ->'.
local info = redis.call('INFO', 'replication')
local id = string.sub(string.match(info, 'master_replid:(%w+)') or '', 1, ${REPLICATION_ID_LENGTH})
local role = string.match(info, 'role:(%w+)')
if role ~= 'master' then id = id .. '-' .. role end
local refusal = '-'
local token = redis.pcall('SET', KEYS[1], ARGV[1], 'NX', 'GET')
if type(token) == 'table' then
  refusal = string.match(token.err or '', '%u+') or 'ERR'
  token = redis.call('GET', KEYS[1]) or '-'
end
local message = id .. ' ' .. refusal .. ' ' .. (token or ARGV[1])
redis.call('SPUBLISH', KEYS[1], message)
return message
`;

export const REMOVE = `
-- KEYS log head base.
redis.call('DEL', unpack(KEYS))
redis.pcall('DEL', KEYS[1] .. '${SET_ASIDE}')
redis.call('SPUBLISH', KEYS[1], 'removed')
return 1
`;

export const SCRIPTS: readonly string[] = [APPEND, APPEND_WITH_LOOKBACK, CLAIM, HEAD, TRIM, EXPIRE, REMOVE];

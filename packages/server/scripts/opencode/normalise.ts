import { portPattern, withoutNames } from '@parley/adapter-kit/testing'

const idPattern = /\b(ses|msg|prt|per|que|evt)_[A-Za-z0-9]+/g
const requestPattern = /\breq-[A-Za-z0-9_-]{16}/g
const ulidPattern = /\b0[0-9A-HJKMNP-TV-Z]{25}\b/g
const datePattern = /(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} [\d:]{8} GMT/g
const isoPattern = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g
const momentPattern = /\b1[6-9]\d{11}\b/g
const hashPattern = /\b[0-9a-f]{40}\b/g
const slugPattern = /"slug":"[a-z-]+"/g

/**
 * Events as lines, without values that depend on the machine or the time. Ids stay consistent within a file; ids and
 * times keep their order.
 */
export function normalised(events: readonly unknown[], place: string): string[] {
  const ids = new Map<string, number>()
  const id = (whole: string, kind: string) => {
    const known = ids.get(whole) ?? ids.size + 1
    ids.set(whole, known)
    return `${kind}_${String(known).padStart(4, '0')}`
  }
  const text = events.map((event) => JSON.stringify(event)).join('\n')
  const moments = [...new Set(text.match(momentPattern))].toSorted()
  const hashes = [...new Set(text.match(hashPattern))]
  const lines = text
    .replaceAll(place, '/somewhere')
    .replaceAll(place.slice(1), 'somewhere')
    .replaceAll('/$bunfs/root/', '/$bunfs/')
    .replaceAll(idPattern, id)
    .replaceAll(ulidPattern, (whole) => id(whole, 'call'))
    .replaceAll(requestPattern, 'req-1')
    .replaceAll(datePattern, 'Thu, 01 Jan 2026 00:00:00 GMT')
    .replaceAll(isoPattern, '2026-01-01T00:00:00.000Z')
    .replaceAll(momentPattern, (moment) => String(moments.indexOf(moment) + 1))
    .replaceAll(hashPattern, (hash) => `hash${hashes.indexOf(hash) + 1}`)
    .replaceAll(portPattern, '127.0.0.1:1')
    .replaceAll(slugPattern, '"slug":"some-slug"')
  return withoutNames(lines).split('\n')
}

import { hostname, userInfo } from 'node:os'
import { basename } from 'node:path'
import type { Line } from './run.ts'

const uuidPattern = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
const idPattern = /\b(?:msg|rs|req)-[\w-]{10,}/g
const portPattern = /127\.0\.0\.1:\d+/g
const timePattern = /\d{4}-\d\d-\d\dT\d\d[:-]\d\d[:-]\d\d/g
const folderPattern = /sessions\/\d{4}\/\d\d\/\d\d/g
const measuredField = /(Ms|At)$/
/** Not ours to keep: long texts that Codex tells its model. */
const longFields = new Set(['developer_instructions'])

/** Messages as lines, with every trace of the machine and of the hour taken out. Ids stay consistent in one file. */
export function normalised(lines: readonly Line[], place: string): string[] {
  const uuids = numbering((count) => `00000000-0000-4000-8000-${String(count).padStart(12, '0')}`)
  const ids = numbering((count) => `id-${count}`)
  const processes = numbering((count) => String(count))
  return lines.map((line) => {
    const text = JSON.stringify(line, (key, value) => {
      if (typeof value === 'number' && measuredField.test(key)) return 0
      if (key === 'processId' && typeof value === 'string') return processes(value)
      return longFields.has(key) && typeof value === 'string' ? '…' : value
    })
    const plain = text
      .replaceAll(place, '/somewhere')
      .replaceAll(basename(place), 'somewhere')
      .replaceAll(uuidPattern, uuids)
      .replaceAll(idPattern, ids)
      .replaceAll(portPattern, '127.0.0.1:1')
      .replaceAll(timePattern, '2026-01-01T00:00:00')
      .replaceAll(folderPattern, 'sessions/2026/01/01')
    return [hostname(), userInfo().username === 'root' ? '' : userInfo().username]
      .filter((name) => name !== '')
      .reduce((words, name) => words.replaceAll(`"${name}"`, '"machine"'), plain)
  })
}

function numbering(name: (count: number) => string): (id: string) => string {
  const known = new Map<string, string>()
  return (id) => {
    if (!known.has(id)) known.set(id, name(known.size + 1))
    return known.get(id) ?? id
  }
}

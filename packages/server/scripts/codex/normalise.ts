import { basename } from 'node:path'
import { numberedUuids, numbering, portPattern, uuidPattern, withoutNames } from '@parley/adapter-kit/testing'
import type { Line } from './run.ts'

const idPattern = /\b(?:msg|rs|req)-[\w-]{10,}/g
const timePattern = /\d{4}-\d\d-\d\dT\d\d[:-]\d\d[:-]\d\d/g
const folderPattern = /sessions\/\d{4}\/\d\d\/\d\d/g
const measuredField = /(Ms|At)$/
/** Fields with long instructions from Codex to its model, which recordings must not contain. */
const longFields = new Set(['developer_instructions'])

/** Messages as lines, without values that depend on the machine or the time. Ids stay consistent within a file. */
export function normalised(lines: readonly Line[], place: string): string[] {
  const uuids = numberedUuids()
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
    return withoutNames(plain)
  })
}

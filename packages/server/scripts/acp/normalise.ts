import { hostname, userInfo } from 'node:os'
import { resolve } from 'node:path'

const checkout = resolve(import.meta.dirname, '../../../..')

const uuidPattern = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
const idPattern = /\bmsg_[A-Za-z0-9_-]{10,}/g
const stampPattern = /\b1\d{12}\b|_1\d{12}_/g
const timePattern = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g
const portPattern = /127\.0\.0\.1:\d+/g
const measuredField = /Ms$/
const shortDescription = 60

/** Frames as lines, with every trace of the machine and of the hour taken out. Ids stay consistent in one file. */
export function normalised(frames: readonly string[], place: string): string[] {
  const uuids = numbering((count) => `00000000-0000-4000-8000-${String(count).padStart(12, '0')}`)
  const ids = numbering((count) => `msg_${count}`)
  const stamps = numbering((count) => String(1_700_000_000_000 + count))
  return frames.map((frame) => {
    let line = JSON.stringify(JSON.parse(frame), (key, value) => {
      if (typeof value === 'number' && measuredField.test(key)) return 0
      return key === 'availableCommands' ? value.map(shortened) : value
    })
    line = line
      .replaceAll(process.execPath, '/somewhere/node')
      .replaceAll(checkout, '/somewhere/parley')
      .replaceAll(place, '/somewhere')
      .replaceAll(place.replaceAll(/[^A-Za-z0-9]/g, '-'), '-somewhere')
    line = line
      .replaceAll(uuidPattern, uuids)
      .replaceAll(idPattern, ids)
      .replaceAll(stampPattern, (stamp) => stamp.replace(/\d{13}/, stamps))
      .replaceAll(timePattern, '2026-01-01T00:00:00.000Z')
      .replaceAll(portPattern, '127.0.0.1:1')
    for (const name of [hostname(), userInfo().username === 'root' ? '' : userInfo().username]) {
      if (name.length > 3) line = line.replaceAll(name, 'machine')
    }
    return line
  })
}

/** What a command is for takes pages with some agents. */
function shortened(command: { description?: string }): object {
  const { description } = command
  return description ? { ...command, description: description.slice(0, shortDescription) } : command
}

function numbering(name: (count: number) => string): (id: string) => string {
  const known = new Map<string, string>()
  return (id) => {
    if (!known.has(id)) known.set(id, name(known.size + 1))
    return known.get(id) ?? id
  }
}

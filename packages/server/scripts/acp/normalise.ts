import { resolve } from 'node:path'
import { numberedUuids, numbering, portPattern, uuidPattern, withoutNames } from '../recorder.ts'

const checkout = resolve(import.meta.dirname, '../../../..')

const idPattern = /\bmsg_[A-Za-z0-9_-]{10,}/g
const stampPattern = /\b1\d{12}\b|_1\d{12}_/g
const timePattern = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g
const measuredField = /Ms$/
const shortDescription = 60

/** Frames as lines, without values that depend on the machine or the time. Ids stay consistent within a file. */
export function normalised(frames: readonly string[], place: string): string[] {
  const uuids = numberedUuids()
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
    return withoutNames(line)
  })
}

/** Cuts the description of a command: some agents write several pages. */
function shortened(command: { description?: string }): object {
  const { description } = command
  return description ? { ...command, description: description.slice(0, shortDescription) } : command
}

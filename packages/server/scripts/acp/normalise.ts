import { resolve } from 'node:path'
import { cleanLines, numbering } from '@parley/adapter-kit/testing'

const checkout = resolve(import.meta.dirname, '../../../..')

const idPattern = /\bmsg_[A-Za-z0-9_-]{10,}/g
const stampPattern = /\b1\d{12}\b|_1\d{12}_/g
const measuredField = /Ms$/
const shortDescription = 60

/** Frames as lines, without values that depend on the machine or the time. Ids stay consistent within a file. */
export function normalised(frames: readonly string[], place: string): string[] {
  const ids = numbering((count) => `msg_${count}`)
  const stamps = numbering((count) => String(1_700_000_000_000 + count))
  const lines = frames.map((frame) =>
    JSON.stringify(JSON.parse(frame), (key, value) => {
      if (typeof value === 'number' && measuredField.test(key)) return 0
      if (key === 'availableSkillDetails') return []
      return key === 'availableCommands' ? value.map(shortened) : value
    }),
  )
  const paths = {
    [process.execPath]: '/somewhere/node',
    [checkout]: '/somewhere/parley',
    [place]: '/somewhere',
  }
  return cleanLines(lines, { paths }).map((line) =>
    line.replaceAll(idPattern, ids).replaceAll(stampPattern, (stamp) => stamp.replace(/\d{13}/, stamps)),
  )
}

/** Cuts the description of a command: some agents write several pages. */
function shortened(command: { description?: string }): object {
  const { description } = command
  return description ? { ...command, description: description.slice(0, shortDescription) } : command
}

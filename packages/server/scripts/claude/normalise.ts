import { numberedUuids, numbering, portPattern, uuidPattern, withoutNames } from '@parley/adapter-kit/testing'

const idFields = new Set(['id', 'api_message_id', 'request_id'])
const idPattern = /^(msg|req)_[A-Za-z0-9_-]{10,}$/
const socketPattern = /\/\d+\.sock/g
const timePattern = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g
const runIdPattern = /\b0[a-z0-9]{8}-[0-9a-f]{8}\b/g
const measuredField = /(_ms|Ms|_seconds|time_origin_ms|end_time)$/

/** Messages as lines, without values that depend on the machine or the time. Ids stay consistent within a file. */
export function normalised(messages: readonly unknown[], place: string): string[] {
  const uuids = numberedUuids()
  const ids = numbering((count) => `msg_${count}`)
  const tasks = numbering((count) => `task${count}`)
  const runs = numbering((count) => `run${count}`)
  const taskIds = new Set(messages.flatMap(taskIdsOf))
  return messages.map((message) => {
    let line = JSON.stringify(message, (key, value) => {
      if (typeof value === 'number' && measuredField.test(key)) return 0
      return idFields.has(key) && idPattern.test(value) ? ids(value) : value
    })
    line = line
      .replaceAll(place, '/somewhere')
      .replaceAll(place.replaceAll(/[^A-Za-z0-9]/g, '-'), '-somewhere')
    for (const id of taskIds) line = line.replaceAll(id, tasks(id))
    line = line
      .replaceAll(uuidPattern, uuids)
      .replaceAll(runIdPattern, runs)
      .replaceAll(timePattern, '2026-01-01T00:00:00.000Z')
      .replaceAll(portPattern, '127.0.0.1:1')
      .replaceAll(socketPattern, '/1.sock')
    return withoutNames(line)
  })
}

function taskIdsOf(message: unknown): string[] {
  const { task_id, agent_id } = message as { task_id?: string; agent_id?: string }
  return [task_id, agent_id].filter((id) => id !== undefined)
}

import { readdirSync, renameSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

const namePattern = /^session-(\d{4}-\d\d-\d\dT\d\d-\d\d)-(.{8})\.jsonl?$/

/**
 * Gemini names the file of a session by the minute and the first letters of its id. One that is loaded in the minute
 * it was begun in would be begun anew under the same name, and its history lost: so such a file is dated back first.
 */
export function dateBack(options: {
  /** Where Gemini keeps its things, under the home folder. */
  folder: string
  home: string | undefined
  sessionId: string
  now: Date
}): string[] {
  const { folder, home = homedir(), sessionId, now } = options
  const root = join(home, folder)
  return namesIn(root).flatMap((project) => {
    const chats = join(root, project, 'chats')
    return namesIn(chats).flatMap((name) => {
      const [, minute, id] = namePattern.exec(name) ?? []
      if (minute === undefined || id !== sessionId.slice(0, 8) || minute < minuteOf(now)) return []
      return rename(chats, name, { minute, now })
    })
  })
}

/** The latest minute before this one under which there is no file. */
function rename(chats: string, name: string, { minute, now }: { minute: string; now: Date }): string[] {
  const taken = new Set(namesIn(chats))
  for (let back = 1; back < 60; back++) {
    const older = name.replace(minute, minuteOf(new Date(now.getTime() - back * 60_000)))
    if (taken.has(older)) continue
    try {
      renameSync(join(chats, name), join(chats, older))
      return [older]
    } catch {
      return []
    }
  }
  return []
}

function minuteOf(date: Date): string {
  return date.toISOString().slice(0, 16).replace(':', '-')
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

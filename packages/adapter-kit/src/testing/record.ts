import { readFileSync } from 'node:fs'
import { hostname, userInfo } from 'node:os'
import { fileURLToPath } from 'node:url'

/** Records the messages between a host and a real agent, without the names and paths of the machine. */

type Program = { readonly command: string; readonly args: readonly string[] }

/** One line of a recording of both directions. */
export type RecordedMessage = { readonly from: 'host' | 'agent'; readonly message: unknown }

/**
 * The command that runs a program which speaks JSON lines over stdin and stdout, and appends each message of both
 * directions to `file`, as a RecordedMessage.
 */
export function recordedProgram(file: string, { command, args }: Program): Program {
  const tee = new URL(import.meta.url.endsWith('.ts') ? './tee.ts' : './tee.js', import.meta.url)
  return { command: process.execPath, args: [fileURLToPath(tee), file, command, ...args] }
}

export type Cleaning = {
  /** The replacements of paths. The form that some agents use for the names of folders (`-tmp-project`) is replaced too. */
  readonly paths?: Readonly<Record<string, string>>
  /** Keys, tokens and other texts that a recording must not contain. */
  readonly secrets?: readonly string[]
  /** Ids of the agent. Each is replaced by `id-1`, `id-2` and so on; UUIDs need no pattern. */
  readonly ids?: RegExp
}

/** The lines of a recorded file, as `cleanLines` returns them. */
export function cleanRecording(file: string, cleaning: Cleaning = {}): string[] {
  return cleanLines(readFileSync(file, 'utf8').trim().split('\n'), cleaning)
}

/**
 * Lines without values that depend on the machine, the person or the time: two recordings of the same conversation are
 * equal. An id stays the same in all lines.
 */
export function cleanLines(
  lines: readonly string[],
  { paths = {}, secrets = [], ids }: Cleaning = {},
): string[] {
  const uuids = numberedUuids()
  const numbered = numbering((count) => `id-${count}`)
  return lines.map((line) => {
    let text = line
    for (const secret of secrets.filter((one) => one !== '')) text = text.replaceAll(secret, 'secret')
    for (const [path, replacement] of Object.entries(paths))
      text = text.replaceAll(path, replacement).replaceAll(asFolderName(path), asFolderName(replacement))
    text = text
      .replaceAll(uuidPattern, uuids)
      .replaceAll(timePattern, '2026-01-01T00:00:00.000Z')
      .replaceAll(portPattern, '127.0.0.1:1')
    return withoutNames(ids ? text.replaceAll(ids, numbered) : text)
  })
}

function asFolderName(path: string): string {
  return path.replaceAll(/[^A-Za-z0-9]/g, '-')
}

export const uuidPattern = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
export const portPattern = /127\.0\.0\.1:\d+/g
const timePattern = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g

/** Returns a function that replaces each id by a numbered id. The numbers are consistent within one recording. */
export function numbering(name: (count: number) => string): (id: string) => string {
  const known = new Map<string, string>()
  return (id) => {
    if (!known.has(id)) known.set(id, name(known.size + 1))
    return known.get(id) ?? id
  }
}

export function numberedUuids(): (id: string) => string {
  return numbering((count) => `00000000-0000-4000-8000-${String(count).padStart(12, '0')}`)
}

/** Removes the names of this machine and its user. */
export function withoutNames(line: string): string {
  const { username } = userInfo()
  return [hostname(), username === 'root' ? '' : username]
    .filter((name) => name.length > 3)
    .reduce((text, name) => text.replaceAll(name, 'machine'), line)
}

import { createHash } from 'node:crypto'
import type { FolderCommand } from '../core/folder-changes.ts'
import type { Look } from './git.ts'

/** The text that identifies a command in a reflog, so that a repeated command finds its earlier work. */
export function markOf(
  what: string,
  { sessionId, command }: { readonly sessionId: string; readonly command: FolderCommand },
): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([sessionId, command.commandId]))
    .digest('hex')
  return `${what} (parley ${hash.slice(0, 24)})`
}

const searched = 500

/** The commit of the reflog entry with this mark. Undefined if none of the latest entries has the mark. */
export async function commitWithMark(look: Look, ref: string, mark: string): Promise<string | undefined> {
  const args = ['-g', '--format=%H%x00%gs', `-${searched}`, ref, '--'] as const
  const { code, stdout } = await look(['log', ...args])
  if (code !== 0) return undefined
  const line = stdout.split('\n').find((one) => one.slice(one.indexOf('\0') + 1).startsWith(`${mark}:`))
  return line?.slice(0, line.indexOf('\0'))
}

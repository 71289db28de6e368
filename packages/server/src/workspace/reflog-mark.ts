import { createHash } from 'node:crypto'
import type { FolderCommand } from '../core/folder-changes.ts'
import type { Look } from './git.ts'

/** What marks the work of a command in a reflog, so that a repeated command finds what was done already. */
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

/** The commit of the entry with this mark, among the latest entries of a reflog. */
export async function commitWithMark(look: Look, ref: string, mark: string): Promise<string | undefined> {
  const args = ['-g', '--format=%H%x00%gs', `-${searched}`, ref, '--'] as const
  const { code, stdout } = await look(['log', ...args])
  if (code !== 0) return undefined
  const line = stdout.split('\n').find((one) => one.slice(one.indexOf('\0') + 1).startsWith(`${mark}:`))
  return line?.slice(0, line.indexOf('\0'))
}

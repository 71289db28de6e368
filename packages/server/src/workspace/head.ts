import type { Look } from './git.ts'

/** The commit that is checked out in the folder. Undefined if there is no git, no repository, or no commit. */
export async function headOf(look: Look): Promise<string | undefined> {
  const found = await look(['rev-parse', '--verify', '-q', 'HEAD^{commit}']).catch(() => undefined)
  return found?.code === 0 ? found.stdout.trim() : undefined
}

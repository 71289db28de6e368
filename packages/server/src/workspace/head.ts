import type { Look } from './git.ts'

/** The checked-out commit of the folder. Undefined without git, a repository or a commit. */
export async function headOf(look: Look): Promise<string | undefined> {
  const found = await look(['rev-parse', '--verify', '-q', 'HEAD^{commit}']).catch(() => undefined)
  return found?.code === 0 ? found.stdout.trim() : undefined
}

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The uuid under which a prompt is given to the agent: the same after a restart, so that it can be looked for. */
export function promptUuid(promptId: string): `${string}-${string}-${string}-${string}-${string}` {
  const hex = createHash('sha256').update(promptId).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/**
 * Whether the agent's own transcript has a prompt. It writes in batches: a process that was killed right after it was
 * given one may remember nothing of it.
 */
export function transcriptHas(
  env: Readonly<Record<string, string>>,
  agentSessionId: string,
  uuid: string,
): boolean {
  const projects = join(env.CLAUDE_CONFIG_DIR ?? join(env.HOME ?? '', '.claude'), 'projects')
  for (const project of foldersIn(projects)) {
    try {
      return readFileSync(join(projects, project, `${agentSessionId}.jsonl`), 'utf8').includes(uuid)
    } catch {}
  }
  return false
}

function foldersIn(path: string): string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}

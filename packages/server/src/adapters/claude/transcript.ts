import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The uuid under which a prompt is sent to the agent. It is the same after a restart, so that it can be found in a
 * transcript.
 */
export function promptUuid(promptId: string): `${string}-${string}-${string}-${string}-${string}` {
  const hex = createHash('sha256').update(promptId).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** The folder of Claude Code's transcripts, with a subfolder for each working directory. */
export function projectsFolder(env: Readonly<Record<string, string>>): string {
  return join(env.CLAUDE_CONFIG_DIR ?? join(env.HOME ?? '', '.claude'), 'projects')
}

/**
 * The agent's own transcript of a conversation, or undefined if there is none. The agent writes in batches: if it is
 * killed right after it received a prompt, the transcript may lack the prompt.
 */
export function readTranscript(
  env: Readonly<Record<string, string>>,
  agentSessionId: string,
): string | undefined {
  const projects = projectsFolder(env)
  for (const project of foldersIn(projects)) {
    try {
      return readFileSync(join(projects, project, `${agentSessionId}.jsonl`), 'utf8')
    } catch {}
  }
  return undefined
}

function foldersIn(path: string): string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}

/** The uuids of all messages in a transcript, in order. */
export function uuidsIn(transcript: string | undefined): string[] {
  return [...(transcript ?? '').matchAll(/"uuid":"([^"]+)"/g)].flatMap(([, uuid]) => uuid ?? [])
}

/** The agent's id of a deferred call that has no result since. */
export function deferredCall(transcript: string | undefined): string | undefined {
  if (transcript === undefined) return undefined
  const marker = [...transcript.matchAll(/"type":"hook_deferred_tool","toolUseID":"([^"]+)"/g)].at(-1)
  if (!marker) return undefined
  const id = marker[1]
  return transcript.slice(marker.index).includes(`"tool_use_id":"${id}"`) ? undefined : id
}

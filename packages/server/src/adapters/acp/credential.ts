import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { KnownAgent } from './agent.ts'

/** True if a credential is present. If none is, only the agent itself can tell whether it is signed in. */
export function hasCredential({ signIn }: KnownAgent, env: Readonly<Record<string, string>>): boolean {
  const { variables = [], files = [] } = signIn ?? {}
  if (variables.some((name) => env[name])) return true
  return files.some((file) => existsSync(join(env.HOME ?? homedir(), file)))
}

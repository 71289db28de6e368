import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

type Values = Readonly<Record<string, unknown>>

/** If one of these is set, there is a key, or a cloud service with its own credentials. */
const variables = [
  'ANTHROPIC_API_KEY',
  'ANTHROPIC_AUTH_TOKEN',
  'CLAUDE_CODE_OAUTH_TOKEN',
  'CLAUDE_CODE_USE_ANTHROPIC_AWS',
  'CLAUDE_CODE_USE_ANTHROPIC_GOOGLE_CLOUD',
  'CLAUDE_CODE_USE_BEDROCK',
  'CLAUDE_CODE_USE_FOUNDRY',
  'CLAUDE_CODE_USE_GATEWAY',
  'CLAUDE_CODE_USE_MANTLE',
  'CLAUDE_CODE_USE_VERTEX',
]

/**
 * Whether Claude Code has a credential, as far as that is visible from outside; undefined if it is not visible. It
 * must never return false for a person who is signed in.
 */
export function isSignedIn(env: Readonly<Record<string, string>>, platform: NodeJS.Platform) {
  const home = env.HOME ?? ''
  const folder = env.CLAUDE_CONFIG_DIR ?? join(home, '.claude')
  if (isNamed(env) || existsSync(join(folder, '.credentials.json'))) return true
  const settings = read(join(folder, 'settings.json'))
  if (settings.apiKeyHelper || isNamed(asValues(settings.env))) return true
  if (read(join(env.CLAUDE_CONFIG_DIR ?? home, '.claude.json')).primaryApiKey) return true
  // On macOS, Claude Code keeps its credential in the system keychain.
  return platform === 'darwin' ? undefined : false
}

function isNamed(values: Values): boolean {
  return variables.some((name) => values[name])
}

function read(file: string): Values {
  try {
    return asValues(JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    return {}
  }
}

function asValues(value: unknown): Values {
  return typeof value === 'object' && value !== null ? (value as Values) : {}
}

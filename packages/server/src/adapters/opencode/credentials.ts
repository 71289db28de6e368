import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * OpenCode has no vendor of its own: it uses every provider for which its environment has a key. These are the keys of
 * the most common providers, and the settings of the two clouds that have no single key. Any other key is added with
 * `agents.opencode.env`, or stored by OpenCode itself (opencode auth login).
 */
export const providerVariables = [
  'ANTHROPIC_API_KEY',
  'OPENAI_API_KEY',
  'GEMINI_API_KEY',
  'GOOGLE_GENERATIVE_AI_API_KEY',
  'OPENROUTER_API_KEY',
  'GROQ_API_KEY',
  'MISTRAL_API_KEY',
  'DEEPSEEK_API_KEY',
  'XAI_API_KEY',
  'CEREBRAS_API_KEY',
  'TOGETHER_API_KEY',
  'FIREWORKS_API_KEY',
  'MOONSHOT_API_KEY',
  'ZHIPU_API_KEY',
  'AI_GATEWAY_API_KEY',
  'AWS_',
  'AZURE_',
  'GOOGLE_CLOUD_PROJECT',
  'GOOGLE_APPLICATION_CREDENTIALS',
  'VERTEX_LOCATION',
] as const

/** Variables that another OpenCode sets for its children. They must not be inherited. */
export const ofAnotherServer = [
  'OPENCODE_SERVER_PASSWORD',
  'OPENCODE_SERVER_USERNAME',
  'OPENCODE_PID',
  'OPENCODE_TERMINAL',
  'OPENCODE_ROUTE',
  'OPENCODE_WORKSPACE_ID',
  'OPENCODE_CLIENT',
] as const

/**
 * Whether a credential is visible from outside. If not, there may still be one: a server knows, and is asked at its
 * start.
 */
export function hasEvidentCredential(env: Readonly<Record<string, string>>): boolean {
  const keys = ['OPENCODE_API_KEY', ...providerVariables.filter((name) => name.endsWith('_API_KEY'))]
  if (keys.some((name) => env[name]) || env.OPENCODE_AUTH_CONTENT) return true
  const data = env.XDG_DATA_HOME ?? join(env.HOME ?? '', '.local', 'share')
  try {
    const kept = JSON.parse(readFileSync(join(data, 'opencode', 'auth.json'), 'utf8')) as object
    return Object.keys(kept).length > 0
  } catch {
    return false
  }
}

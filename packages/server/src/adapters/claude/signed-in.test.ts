import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { folderForFile } from '../../testing/temporary-folder.ts'
import { isSignedIn } from './index.ts'

const place = folderForFile()

function home(files: Record<string, unknown> = {}): { HOME: string } {
  const folder = mkdtempSync(join(place, 'home-'))
  mkdirSync(join(folder, '.claude'))
  for (const [name, content] of Object.entries(files))
    writeFileSync(join(folder, name), JSON.stringify(content))
  return { HOME: folder }
}

const settings = (content: unknown) => home({ '.claude/settings.json': content })

it.each([
  ['a key', { ...home(), ANTHROPIC_API_KEY: 'placeholder' }],
  ['a token', { ...home(), ANTHROPIC_AUTH_TOKEN: 'placeholder' }],
  ['a cloud', { ...home(), CLAUDE_CODE_USE_FOUNDRY: '1' }],
  ['a sign-in', home({ '.claude/.credentials.json': {} })],
  ['a key of the console', home({ '.claude.json': { primaryApiKey: 'placeholder' } })],
  ['a helper program for keys', settings({ apiKeyHelper: '/bin/key' })],
  ['a key in its settings', settings({ env: { ANTHROPIC_API_KEY: 'placeholder' } })],
  ['a cloud in its settings', settings({ env: { CLAUDE_CODE_USE_BEDROCK: '1' } })],
])('%s counts as a sign-in', (_, env) => {
  expect(isSignedIn(env, 'linux')).toBe(true)
  expect(isSignedIn(env, 'darwin')).toBe(true)
})

it.each([
  ['nothing', home()],
  ['an empty key', { ...home(), ANTHROPIC_API_KEY: '' }],
  ['settings about other things', settings({ env: { ANTHROPIC_MODEL: 'm' }, model: 'm' })],
  ['settings with a wrong shape', settings([null, 'x'])],
])('%s does not count as a sign-in, and is unknown where a keychain exists', (_, env) => {
  expect(isSignedIn(env, 'linux')).toBe(false)
  expect(isSignedIn(env, 'darwin')).toBeUndefined()
})

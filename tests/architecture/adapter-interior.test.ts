import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root, server } from './workspace.ts'

/**
 * The interior of an adapter, in reading order. A file has the same meaning in every adapter:
 * - `index`: the adapter: declares its capabilities; finds, refuses and probes its program
 * - `connection`: one live attachment: sends messages, reads the agent, ends it
 * - `program`: the agent's process: starts it, and reports why it failed or ended
 * - `conversation`: opens the agent's conversation: a new one, a resumed one or a copy
 * - `native`: the messages of the agent that we rely on, and those that we ignore
 * - `settings`: session settings in the agent's form
 * - `prompt`: a prompt in the agent's form
 * - `requests`: passes the agent's requests to `permission` and `question`
 * - `permission`, `question`: one request in our form, its answer in the agent's form
 * - `describe-call`: a tool call in words for people, with the name and the input that rules match
 * - `translate`: native messages into outputs; `translate-state` has its state, `translate-*` its parts
 * - `memory`: the conversations that the agent stores
 * - `host-tools`: offers the host tools to the agent
 */
const interior = {
  required: [
    'index',
    'connection',
    'native',
    'settings',
    'prompt',
    'permission',
    'describe-call',
    'translate',
    'translate-state',
    'memory',
  ],
  optional: ['program', 'conversation', 'requests', 'question', 'host-tools'],
}

/** Files for features that only one agent has. No other file may be added. */
const extraFiles: Record<string, string[]> = {
  acp: [
    'agent',
    'files',
    'gemini-session-files',
    'presets',
    'question-call',
    'untested-presets',
    'wire',
    'write-settings',
  ],
  claude: ['introduction', 'spare', 'transcript', 'will-ask'],
  codex: [
    'app-server',
    'app-server-pool',
    'hook-program',
    'hook-server',
    'native-hook',
    'sandbox-permissions',
    'shell-command',
  ],
  opencode: ['events', 'rules', 'server', 'server-info', 'turn-watch'],
  scripted: [
    'demo',
    'demo-scenes',
    'demo-scenes-asking',
    'demo-script',
    'gates',
    'play-call',
    'play-host-tool',
    'play-text',
    'player',
    'script',
    'transcript',
    'turn',
  ],
}

/** The required files that an adapter lacks. The list may only shrink. */
const missingFiles: Record<string, string[]> = {
  // The scripted agent has no program and no protocol.
  scripted: interior.required.filter((name) => !['index', 'connection', 'settings'].includes(name)),
}

it('every adapter has the same interior', () => {
  const adapters = join(root, server, 'adapters')
  const folders = readdirSync(adapters, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  expect(folders.map(({ name }) => name).toSorted()).toEqual(Object.keys(extraFiles))
  for (const { name: adapter } of folders) {
    const names = readdirSync(join(adapters, adapter))
      .filter((file) => /\.ts$/.test(file) && !/(\.|-under-)test\.ts$/.test(file))
      .map((file) => file.replace(/\.ts$/, ''))
    const known = [...interior.required, ...interior.optional]
    const extra = names.filter((name) => !known.includes(name) && !name.startsWith('translate-'))
    const missing = interior.required.filter((name) => !names.includes(name))
    expect(extra.toSorted(), `extra files of ${adapter}`).toEqual(extraFiles[adapter])
    expect(missing, `missing files of ${adapter}`).toEqual(missingFiles[adapter] ?? [])
  }
})

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { expect, it } from 'vitest'

/**
 * The import rules. Each rule names a folder by its path prefix, the folders of this repository that it may import, and
 * what to do instead of any other import. The first rule that matches a file applies.
 */
const root = resolve(import.meta.dirname, '..')
const server = 'packages/server/src'
const web = 'apps/web/src'

const workspacePackages = {
  '@parley/protocol': 'packages/protocol/src/index.ts',
  '@parley/protocol/diff': 'packages/protocol/src/diff.ts',
  '@parley/client': 'packages/client/src/index.ts',
  '@parley/client/react': 'packages/client/src/react.ts',
  '@parley/server': `${server}/index.ts`,
  '@parley/server/testing': `${server}/testing/index.ts`,
}

type Rule = { room: string; mayImport: string[]; packages?: string[]; instead: string }

const rules: Rule[] = [
  {
    room: 'packages/protocol/src/diff.ts',
    mayImport: ['packages/protocol/src'],
    packages: ['diff'],
    instead: 'the reader of diffs knows the package diff and the protocol.',
  },
  {
    room: 'packages/protocol/src',
    mayImport: ['packages/protocol/src'],
    packages: ['zod'],
    instead:
      'protocol is what crosses the wire: it knows nothing of ours and only zod. Move the code to the side that needs it.',
  },
  {
    room: `${server}/core`,
    mayImport: ['packages/protocol/src', `${server}/core`],
    packages: ['node:crypto'],
    instead:
      'core decides and touches nothing outside. Add a port or a dependency of createHost and pass it in.',
  },
  {
    room: `${server}/adapters/index.ts`,
    mayImport: [`${server}/core/agent-adapter.ts`, `${server}/adapters`],
    instead: 'the list of agents only lists.',
  },
  {
    room: `${server}/adapters`,
    mayImport: [
      'packages/protocol/src',
      `${server}/core/agent-adapter.ts`,
      '(own folder)',
      '(helper beside)',
    ],
    instead:
      'an adapter knows its port, the protocol and the helpers beside the agent folders, never another agent or core.',
  },
  {
    room: `${server}/stores`,
    mayImport: [
      'packages/protocol/src',
      `${server}/core/session-store.ts`,
      `${server}/core/device-store.ts`,
      `${server}/stores`,
    ],
    instead: 'a store knows its port and the protocol. What needs more is a decision: it belongs in core.',
  },
  {
    room: `${server}/faces`,
    mayImport: [
      'packages/protocol/src',
      `${server}/core`,
      `${server}/workspace`,
      `${server}/transcripts`,
      '(own folder)',
    ],
    instead: 'a face speaks for core. It sees no store, no adapter and no other face.',
  },
  {
    room: `${server}/transcripts`,
    mayImport: ['packages/protocol/src', `${server}/transcripts`],
    packages: [],
    instead: 'transcripts are pure: events in, the words of other programs out. What needs more is a face.',
  },
  {
    room: `${server}/tools`,
    mayImport: ['packages/protocol/src', `${server}/core`, `${server}/tools`],
    instead: 'tools see protocol and core.',
  },
  {
    room: `${server}/workspace`,
    mayImport: ['packages/protocol/src', `${server}/core`, `${server}/workspace`],
    instead: 'workspace sees protocol and core.',
  },
  {
    room: `${server}/telemetry`,
    mayImport: ['packages/protocol/src', `${server}/core`, `${server}/telemetry`],
    packages: ['node:diagnostics_channel', '@opentelemetry/api'],
    instead: 'telemetry hears what core tells and sends nothing. What needs more is a face.',
  },
  {
    room: `${server}/cli`,
    mayImport: ['packages/protocol/src', 'packages/client/src', server],
    instead: 'the CLI may see all of the server and the client.',
  },
  {
    room: `${server}/testing`,
    mayImport: ['packages/protocol/src', server],
    instead: 'the contract suites see the server, not the client and not the CLI.',
  },
  {
    room: `${server}/adapter.ts`,
    mayImport: [`${server}/adapters`],
    instead: 'the door for authors of adapters only exports what adapters are made with.',
  },
  {
    room: `${server}/embed.ts`,
    mayImport: [
      'packages/protocol/src',
      `${server}/core`,
      `${server}/faces`,
      `${server}/telemetry`,
      `${server}/cli/version.ts`,
    ],
    instead: "embedding puts faces on a host that it is given; whatever else is the embedding program's.",
  },
  {
    room: `${server}/create-host.ts`,
    mayImport: [
      `${server}/core`,
      `${server}/workspace`,
      `${server}/tools`,
      `${server}/telemetry`,
      `${server}/cli/version.ts`,
    ],
    instead: 'createHost composes core with what every host needs.',
  },
  {
    room: `${server}/index.ts`,
    mayImport: [
      'packages/protocol/src',
      `${server}/create-host.ts`,
      `${server}/core`,
      `${server}/workspace`,
      `${server}/transcripts`,
      `${server}/stores`,
      `${server}/tools`,
      `${server}/adapters`,
      `${server}/telemetry`,
    ],
    instead: 'the entry point of the library only exports.',
  },
  {
    room: 'packages/client/src',
    mayImport: ['packages/protocol/src', 'packages/client/src'],
    packages: ['react'],
    instead: 'the client runs in browsers: only the protocol, and React in react.ts.',
  },
  ...consoleRules(),
]

/** The layers of the console, lowest first. Each may import itself and those below; features do not import each other. */
function consoleRules(): Rule[] {
  const layers: { folder: string; features?: string[]; packages: string[]; instead: string }[] = [
    {
      folder: 'base',
      packages: ['idb'],
      instead:
        'base knows neither sessions nor components. What needs them belongs in session-data or parts.',
    },
    {
      folder: 'parts',
      packages: ['marked', 'remend', 'shiki'],
      instead: 'a part knows no session: pass it what it shows, or move it to the feature that uses it.',
    },
    {
      folder: 'session-data',
      packages: ['idb'],
      instead: 'session data knows no feature. What only one feature uses belongs there.',
    },
    { folder: 'call', packages: [], instead: 'a call is shown from its block alone.' },
  ]
  const below = layers.length
  const feature = (folder: string, packages: string[] = [], features: string[] = []) =>
    layers.push({
      folder,
      features,
      packages,
      instead: 'features do not import each other. What two of them use belongs in a layer below.',
    })
  feature('changes', [], ['composer'])
  feature('composer')
  feature('import')
  feature('inbox', [], ['request'])
  feature('inspector')
  feature('palette', ['cmdk'], ['sessions'])
  feature('plan')
  feature('request')
  feature('sessions', [], ['composer'])
  feature('settings')
  feature('sign-in')
  feature('start', [], ['composer'])
  feature('terminal', ['@xterm/xterm', '@xterm/addon-fit', '@xterm/addon-search'])
  feature('timeline', ['@tanstack/react-virtual'], ['composer'])
  layers.push({
    folder: 'app',
    features: layers.slice(below).map(({ folder }) => folder),
    packages: ['react-dom'],
    instead: 'the console uses only client and protocol.',
  })
  return layers.map(({ folder, features = [], packages, instead }, index) => ({
    room: `${web}/${folder}`,
    mayImport: [
      workspacePackages['@parley/protocol'],
      workspacePackages['@parley/protocol/diff'],
      workspacePackages['@parley/client'],
      workspacePackages['@parley/client/react'],
      ...[...layers.slice(0, Math.min(index, below)).map((layer) => layer.folder), ...features, folder].map(
        (name) => `${web}/${name}`,
      ),
    ],
    packages: ['react', 'lucide-react', ...packages],
    instead,
  }))
}

const importPattern =
  /(?:^|\n)\s*(?:import|export)\s[^'"`;]*?from\s*['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]\s*\)|(?:^|\n)import\s*['"]([^'"]+)['"]/g

function importsOf(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8')
  return [...text.matchAll(importPattern)].map((match) => match[1] ?? match[2] ?? match[3] ?? '')
}

function sourceFiles(): string[] {
  const folders = ['packages/protocol/src', 'packages/client/src', server, web]
  return folders
    .flatMap((folder) => {
      try {
        return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) =>
          join(folder, name),
        )
      } catch {
        return []
      }
    })
    .filter((file) => /\.tsx?$/.test(file) && !/\.test\.tsx?$|under-test\.ts$/.test(file))
}

function problemWith(file: string, specifier: string): string | undefined {
  const rule = rules.find(({ room }) => file === room || file.startsWith(`${room}/`))
  if (!rule) return `${file} is in no room: give its folder a rule in tests/architecture.test.ts`
  const target = targetOf(file, specifier)
  if (target === undefined) {
    const allowed =
      rule.packages === undefined ||
      rule.packages.some((name) => specifier === name || specifier.startsWith(`${name}/`))
    return allowed ? undefined : `${file} imports the package ${specifier}: ${rule.instead}`
  }
  const allowed = rule.mayImport.some((room) => sees(file, target, room))
  return allowed ? undefined : `${file} imports ${target}: ${rule.instead}`
}

/** The file of this repository that an import names; undefined for another package. */
function targetOf(file: string, specifier: string): string | undefined {
  if (specifier.startsWith('.')) return relative(root, resolve(root, dirname(file), specifier))
  return (workspacePackages as Record<string, string>)[specifier]
}

function sees(file: string, target: string, room: string): boolean {
  const parts = file.split('/')
  if (room === '(own folder)') return target.startsWith(`${parts.slice(0, 5).join('/')}/`)
  if (room === '(helper beside)')
    return target.startsWith(`${server}/adapters/`) && target.split('/').length === 5
  return target === room || target.startsWith(`${room}/`)
}

it('no import breaks the rules of the table', () => {
  const files = sourceFiles()
  expect(files.length).toBeGreaterThan(50)
  const problems = files.flatMap((file) => importsOf(file).map((specifier) => problemWith(file, specifier)))
  expect(problems.filter((problem) => problem !== undefined)).toEqual([])
})

it('a forbidden import is reported', () => {
  expect(problemWith(`${server}/core/host.ts`, '../stores/sqlite.ts')).toContain('Add a port')
  expect(problemWith(`${server}/core/host.ts`, 'ws')).toContain('package ws')
  expect(problemWith(`${server}/adapters/scripted/index.ts`, '../claude/index.ts')).toContain(
    'never another agent',
  )
  expect(problemWith('packages/client/src/http.ts', 'node:fs')).toContain('browsers')
  expect(problemWith(`${server}/adapters/scripted/index.ts`, '../environment.ts')).toBeUndefined()
  expect(problemWith(`${web}/base/focus.ts`, '../parts/button.tsx')).toContain('knows neither sessions')
  expect(problemWith(`${web}/timeline/find.tsx`, '../request/card.tsx')).toContain('layer below')
  expect(problemWith(`${web}/app/main.tsx`, 'node:fs')).toContain('package node:fs')
  expect(problemWith(`${web}/app/main.tsx`, '@parley/server')).toContain('only client and protocol')
  expect(problemWith(`${web}/inbox/inbox-page.tsx`, '../request/card.tsx')).toBeUndefined()
})

it('the files of the console have no import cycles, of values or of types', () => {
  const files = sourceFiles().filter((file) => file.startsWith(`${web}/`))
  expect(files.length).toBeGreaterThan(100)
  expect(importCycles(files)).toEqual([])
})

/** One cycle per file that closes one, as the path of files from the file back to itself. */
function importCycles(files: readonly string[]): string[] {
  const cycles: string[] = []
  const done = new Set<string>()
  const visit = (file: string, path: readonly string[]) => {
    if (path.includes(file)) cycles.push([...path.slice(path.indexOf(file)), file].join(' -> '))
    if (path.includes(file) || done.has(file)) return
    const targets = importsOf(file).map((specifier) => targetOf(file, specifier.replace(/\?.*/, '')))
    for (const target of targets) if (target && files.includes(target)) visit(target, [...path, file])
    done.add(file)
  }
  for (const file of files) visit(file, [])
  return cycles
}

it('the optional peers of @parley/server/testing are loaded in one place, so that it can be imported without them', () => {
  const testing = sourceFiles().filter((file) => file.startsWith(`${server}/testing/`))
  const loads = (file: string) =>
    /^import (?!type\b)[^'"]*from '(vitest|fast-check|@copilotkit\/aimock)'/m.test(
      readFileSync(join(root, file), 'utf8'),
    )
  expect(testing.length).toBeGreaterThan(10)
  expect(testing.filter(loads), 'import these names from testing/peers.ts').toEqual([])
})

/**
 * The interior of an adapter, in reading order. A file has the same meaning in every adapter:
 * - `index`: the adapter: what it declares, how its program is found, refused and probed
 * - `connection`: one live attachment: sends messages, reads the agent, ends it
 * - `native`: the messages of the agent that we rely on, and those that we ignore
 * - `settings`: session settings in the agent's form
 * - `prompt`: a prompt in the agent's form
 * - `requests`: passes the agent's requests to `permission` and `question`
 * - `permission`, `question`: one request in our form, its answer in the agent's form
 * - `describe-call`: a tool call in words for people, with the name and the input that rules match
 * - `translate`: native messages into outputs; `translate-state` has its state, `translate-*` its parts
 * - `memory`: the conversations that the agent keeps
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
  optional: ['requests', 'question'],
}

/** Files for what only one agent has. Add a file only for that; the list otherwise shrinks. */
const extraFiles: Record<string, string[]> = {
  acp: [
    'agent',
    'approved-change',
    'cannot-start',
    'credential',
    'files',
    'paths-of-call',
    'presets',
    'probe',
    'process-group',
    'questions',
    'retelling',
    'session-file',
    'session-pages',
    'start',
    'teller',
    'wire',
  ],
  claude: [
    'credential',
    'deferred-call',
    'diffs-of-call',
    'farewell',
    'hook-waits',
    'host-tools',
    'input',
    'introduction',
    'models',
    'program',
    'protected-call',
    'rewind',
    'settings-file',
    'signed-in',
    'spare',
    'suggestions',
    'transcript',
    'transcript-watch',
    'trust',
    'will-ask',
  ],
  codex: [
    'app-server',
    'app-server-pool',
    'host-tools',
    'introduction',
    'judge',
    'native-hook',
    'open-thread',
    'read-only-command',
    'refusal-desk',
    'refusal-hook',
    'remembered-prompt',
    'sandbox-permissions',
    'shell-words',
    'sign-in',
    'start-program',
  ],
  opencode: [
    'announced-calls',
    'billing',
    'catch-up',
    'connect',
    'conversation',
    'credentials',
    'describe-tool',
    'diffs-in-metadata',
    'events',
    'introduction',
    'outgoing',
    'remembered',
    'remembered-prompt',
    'rewind',
    'rules',
    'server',
    'turn-watch',
    'version',
    'watch-over',
    'words-of',
  ],
  scripted: [
    'demo',
    'demo-scenes',
    'demo-scenes-with-you',
    'effect',
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

/** Files of the interior that an adapter still has under another name or in another file. The list shrinks. */
const missingFiles: Record<string, string[]> = {
  claude: ['describe-call'],
  opencode: ['describe-call'],
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

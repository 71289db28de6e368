import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type CapabilityName, capabilityNames } from '@parley/protocol'
import { acpAgents } from '../packages/server/src/adapters/acp/presets.ts'
import { builtInAdapters } from '../packages/server/src/adapters/index.ts'
import type { AgentAdapter } from '../packages/server/src/core/agent-adapter.ts'
import { capabilityCases } from '../packages/server/src/testing/adapter-contract/capability-cases.ts'

/**
 * Writes docs/agents.md, the table of agents and their capabilities, from the declarations of the adapters. The
 * contract suite fails if the real program does not show a declared capability, so the entries of an agent with a
 * contract test are proven. `node --conditions=source scripts/agents-doc.ts` writes the page; a test fails when the
 * page is stale.
 */
const root = resolve(import.meta.dirname, '..')
export const agentsDocFile = join(root, 'docs/agents.md')

export function agentsDoc(): string {
  const proven = contractTests()
  const all = builtInAdapters().filter(({ id }) => id !== 'demo')
  const shown = all.filter(({ id }) => proven.has(id))
  const others = all.filter(({ id }) => !proven.has(id))
  return [
    '# Agents',
    '',
    '<!-- Written by scripts/agents-doc.ts from what the adapters declare. Do not edit by hand. -->',
    '',
    'This page lists the capabilities of each agent. The contract suite tests every `yes` with the real program: `npm test` tests Claude, and',
    '`npm run test:rest` tests the other agents. A command that needs a missing capability is refused with `not_supported`, before anything happens.',
    '',
    '## Capabilities',
    '',
    ...table(
      ['', ...shown.map(({ name }) => name)],
      [
        ...capabilityNames.map((name) => [descriptionOf(name), ...shown.map((agent) => mark(agent, name))]),
        ['modes', ...shown.map(({ modes }) => modes.map((mode) => `\`${mode}\``).join(' '))],
        [
          'options',
          ...shown.map(({ options = [] }) => ['tools', ...options].map((one) => `\`${one}\``).join(' ')),
        ],
        ['conversations can be imported', ...shown.map(({ conversations }) => (conversations ? 'yes' : '–'))],
        ['installed by `agents install`', ...shown.map(installOf)],
      ],
    ),
    '',
    '## Who is billed',
    '',
    "`billing` of `agent.connected` says what is billed (a key, a subscription or a cloud account), if the agent's program reports it.",
    '',
    '- Claude and Codex report the kind of account.',
    '- OpenCode reports where it found the credential for the provider of the model. Its models that need no account have no `billing`.',
    '- Over the Agent Client Protocol `billing` is absent: the protocol lists the methods to sign in, not the one in use. `claude-acp`',
    '  reports its account in an extension (`authStatus`), which Parley records as `credential`; Gemini does not report its account.',
    '',
    '## Other agents that speak the Agent Client Protocol',
    '',
    'Parley knows these agents by name and drives them with its ACP adapter. The tests do not run them, so their capabilities are assumed.',
    '',
    ...table(
      ['Agent', 'Id', 'Assumed capabilities', 'Installed by `agents install`'],
      others.map((agent) => [
        agent.name,
        `\`${agent.id}\``,
        capabilityNames.filter((name) => agent.capabilities[name]).join(', '),
        installOf(agent),
      ]),
    ),
    '',
    'To add any other program that speaks the protocol over stdio, see [agents-install.md](agents-install.md#add-an-agent-of-your-own).',
    '',
  ].join('\n')
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)]
}

function descriptionOf(name: CapabilityName): string {
  return `\`${name}\`: ${capabilityCases[name].title}`
}

function mark({ capabilities }: AgentAdapter, name: CapabilityName): string {
  return capabilities[name] ? 'yes' : '–'
}

function installOf({ install, id }: AgentAdapter): string {
  if (install) return `${install.package} ${install.version}`
  const { installGuide } = acpAgents.find((preset) => preset.id === id) ?? {}
  return installGuide === undefined ? '–' : `no: see its [install guide](${installGuide})`
}

/** The agents that have a contract test, by their names in the tests. */
function contractTests(): ReadonlySet<string> {
  const folder = join(root, 'packages/server/src/adapters')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.test.ts'),
  )
  const names = files.flatMap((file) =>
    [...readFileSync(join(folder, file), 'utf8').matchAll(/^adapterContract\('([^']+)'/gm)].map(
      ([, name]) => name ?? '',
    ),
  )
  return new Set(names)
}

if (import.meta.main) writeFileSync(agentsDocFile, agentsDoc())

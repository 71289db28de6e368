import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { processesIn } from '@parley/adapter-kit/testing'
import { expect, it } from 'vitest'
import { createHome } from '../../packages/server/src/cli/program-under-test.ts'
import { AgentHome } from '../../packages/server/src/testing/agent-home.ts'
import { testAgentsFolder } from '../../packages/server/src/testing/agents-folder.ts'
import { claudeEnvironment } from '../../packages/server/src/testing/claude-environment.ts'
import { codexEnvironment } from '../../packages/server/src/testing/codex-environment.ts'
import { geminiEnvironment } from '../../packages/server/src/testing/gemini-environment.ts'
import { modelPrompt } from '../../packages/server/src/testing/model-by-prompt.ts'
import { quietEnvironment } from '../../packages/server/src/testing/opencode-environment.ts'

/** Tests that the program starts each real agent, exchanges messages with it, and leaves no process behind. */

it.each(['codex', 'opencode', 'gemini', 'claude-acp'] as const)(
  'parley agents doctor %s checks the real agent and leaves no process behind',
  async (agent) => {
    await using home = createHome()
    await using agents = await AgentHome.open()
    const env = agents.env(agent)
    const examine = (words: string) => [
      'agents',
      'doctor',
      agent,
      '--into',
      testAgentsFolder(),
      '--prompt',
      words,
    ]
    const greet = examine(modelPrompt('Hello.', { content: 'Hello there.' }))
    const { exitCode, stdout } = await home.start(greet, { env, input: '' }).ended
    expect(stdout).toMatch(/^ok +start +answers after/m)
    expect(stdout).toMatch(/^ok +prompt +completed$/m)
    expect(stdout).toMatch(/^ok +end /m)
    expect(exitCode).toBe(0)
    expect(agents.model.calls.some(({ status }) => status === 200)).toBe(true)
    expect(processesIn(agents.path)).toEqual([])

    const error = { message: 'The key is not valid.', type: 'invalid_request_error' }
    const refused = await home.run(examine(modelPrompt('Hello.', { error, status: 401 })), { env })
    expect(refused.stdout).toMatch(/^fail prompt +failed: \S/m)
    expect(refused.exitCode).toBe(1)
    expect(processesIn(agents.path)).toEqual([])
  },
)

type Place = { url: string; home: string }

/** The environment of a machine on which nobody has signed in yet. */
const signedOutEnvironments: Record<string, (place: Place) => Record<string, string>> = {
  claude: (place) => without(claudeEnvironment(place), 'ANTHROPIC_API_KEY'),
  codex: (place) => ({
    ...without(codexEnvironment(place), 'OPENAI_API_KEY'),
    CODEX_HOME: mkdtempSync(join(place.home, 'nobody-')),
  }),
  opencode: ({ home }) => quietEnvironment(home),
  gemini: (place) => without(geminiEnvironment(place), 'GEMINI_API_KEY'),
  'claude-acp': (place) => without(claudeEnvironment(place), 'ANTHROPIC_API_KEY'),
}

it.each([
  ['claude', 'claude auth login'],
  ['codex', 'codex login'],
  ['opencode', 'opencode auth login'],
  ['gemini', 'GEMINI_API_KEY'],
  ['claude-acp', 'claude-agent-acp --cli auth login'],
])('parley agents doctor %s reports a missing sign-in, and what to do', async (agent, hint) => {
  await using home = createHome()
  // Nothing listens at these addresses, so an agent cannot fetch anything.
  const env = signedOutEnvironments[agent]?.({ url: 'http://127.0.0.1:9', home: home.folder }) ?? {}
  const proxy = { HTTP_PROXY: 'http://127.0.0.1:9', HTTPS_PROXY: 'http://127.0.0.1:9' }
  const examine = ['agents', 'doctor', agent, '--into', testAgentsFolder()]
  const { exitCode, stdout } = await home.run(examine, { env: { ...env, ...proxy } })
  const failures = stdout.split('\n').filter((line) => line.startsWith('fail'))
  expect(failures).toEqual([expect.stringMatching(/not signed in|no model provider/)])
  expect(failures[0]).toContain(hint)
  expect(exitCode).toBe(1)
  expect(processesIn(home.folder)).toEqual([])
})

function without(env: Record<string, string>, name: string): Record<string, string> {
  const { [name]: _, ...rest } = env
  return rest
}

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { agentFolder } from '@parley/adapter-kit/find-program'
import { testAgentsFolder } from '../../src/testing/agents-folder.ts'

const name = '@anthropic-ai/claude-agent-sdk'
const installed = join(agentFolder(testAgentsFolder(), 'claude'), 'node_modules', name, 'sdk.mjs')

/** The Agent SDK that is installed in the agents folder for tests; otherwise that of the repository. */
export const sdk: typeof import('@anthropic-ai/claude-agent-sdk') = existsSync(installed)
  ? await import(pathToFileURL(installed).href)
  : await import(name)

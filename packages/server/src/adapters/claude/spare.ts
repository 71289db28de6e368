import { existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { PreparedAgent, PrepareInput } from '@parley/adapter-kit'
import { type ClaudeOptions, connectClaude } from './connection.ts'
import { ClaudeProgram } from './program.ts'
import { configFolder, settingsFiles, settingsIn } from './settings.ts'

export async function prepareClaude(options: ClaudeOptions, input: PrepareInput): Promise<PreparedAgent> {
  const program = new ClaudeProgram(options)
  const read = startFiles(options)
  await program.startSpare(input)
  let isTaken = false
  return {
    get isUsable() {
      return program.isSpare && startFiles(options) === read
    },
    async enter(place) {
      if (!runsSomething(options, place.cwd)) await program.enter(place)
    },
    async connect(session) {
      isTaken = true
      return connectClaude(options, session, program)
    },
    async close() {
      if (!isTaken) program.kill()
    },
  }
}

const managedSettings = '/etc/claude-code/managed-settings.json'

/** A fingerprint of the files that Claude Code reads once at its start. */
function startFiles({ env, executable }: ClaudeOptions): string {
  const folder = configFolder(env)
  const files = [
    join(folder, 'settings.json'),
    join(folder, '.credentials.json'),
    managedSettings,
    executable,
  ]
  return JSON.stringify([files.map(stamp), ownServers(env)])
}

function stamp(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false })
  return found && `${found.ino} ${found.size} ${found.mtimeMs}`
}

/** The person's MCP servers in `.claude.json`. Other fields of this file change whenever Claude Code starts. */
function ownServers(env: Readonly<Record<string, string>>): unknown {
  const file = join(env.CLAUDE_CONFIG_DIR ?? env.HOME ?? '', '.claude.json')
  return settingsIn(file).settings.mcpServers
}

/**
 * Hooks that run only after a prompt. Other hooks, including those that newer versions add, may run as soon as Claude
 * Code enters a folder.
 */
const needPrompt = new Set([
  'PreToolUse',
  'PostToolUse',
  'PostToolUseFailure',
  'PermissionRequest',
  'UserPromptSubmit',
  'PreCompact',
  'SubagentStop',
  'Stop',
])

/**
 * True if Claude Code would run something when it enters the folder: hooks, plugins or the folder's MCP servers.
 * Without a session they must not run.
 */
function runsSomething({ env, settingSources }: ClaudeOptions, cwd: string): boolean {
  if (settingSources.includes('project') && hasServers(cwd)) return true
  return [managedSettings, ...settingsFiles(env, cwd, settingSources)].some((file) => {
    const { settings, isUnclear } = settingsIn(file)
    const { hooks, enabledPlugins } = settings
    const events = Object.keys(hooks ?? {})
    return isUnclear || enabledPlugins !== undefined || events.some((event) => !needPrompt.has(event))
  })
}

/** True if the folder or one of its parents has MCP servers: Claude Code reads those of the parents too. */
function hasServers(folder: string): boolean {
  if (existsSync(join(folder, '.mcp.json'))) return true
  const parent = dirname(folder)
  return parent !== folder && hasServers(parent)
}

import { resolve } from 'node:path'
import { firstLine, shortPath, shortTitle } from '@parley/adapter-kit/call-description'
import type { HostToolNames } from '@parley/adapter-kit/host-tool-server'
import type { ToolKind, ToolLocation } from '@parley/protocol'
import type { NativeCallItem, NativeFileChange } from './native.ts'
import { readingOf, withoutShell } from './shell-command.ts'

/** The description of a call for people, with the name and the input that rules match. */
export type CallDescription = {
  readonly name: string
  readonly kind: ToolKind
  readonly title: string
  readonly input: unknown
  readonly locations?: ToolLocation[]
}

export type CallContext = { readonly cwd?: string | undefined; readonly hostTools?: HostToolNames }

/** The tool names that people know from Codex's hooks. */
export const commandTool = 'Bash'
export const patchTool = 'apply_patch'

export function describeItem(item: NativeCallItem, { cwd, hostTools }: CallContext): CallDescription {
  switch (item.type) {
    case 'commandExecution':
      return describeCommand(withoutShell(item.command), item.cwd, cwd)
    case 'fileChange':
      return describeChanges(item.changes, cwd)
    case 'mcpToolCall':
      return describeMcp(item, hostTools)
    case 'dynamicToolCall': {
      const name = item.namespace ? `${item.namespace}__${item.tool}` : item.tool
      return { name, kind: 'other', title: name, input: item.arguments }
    }
    case 'collabAgentToolCall':
      return describeCollab(item)
    case 'subAgentActivity':
      return {
        name: 'spawn_agent',
        kind: 'subagent',
        title: item.agentPath.split('/').at(-1) || 'Start a subagent',
        input: { agent: item.agentPath },
      }
    case 'webSearch':
      return {
        name: 'web_search',
        kind: 'fetch',
        title: item.query ? `Search the web for "${item.query}"` : 'Search the web',
        input: { query: item.query },
      }
    case 'imageView':
      return {
        name: 'view_image',
        kind: 'read',
        title: `Look at ${shortPath(item.path, cwd)}`,
        input: { path: item.path },
        locations: [{ path: item.path }],
      }
    case 'sleep':
      return { name: 'sleep', kind: 'other', title: 'Wait', input: { durationMs: item.durationMs } }
    case 'imageGeneration':
      return {
        name: 'image_generation',
        kind: 'other',
        title: 'Make an image',
        input: { prompt: item.revisedPrompt },
      }
    case 'functionCallOutput': {
      const name = item.namespace ? `${item.namespace}__${item.name}` : item.name
      return { name, kind: 'other', title: name, input: null }
    }
  }
}

function describeMcp(
  { server, tool, arguments: input }: Extract<NativeCallItem, { type: 'mcpToolCall' }>,
  hostTools: HostToolNames | undefined,
): CallDescription {
  const native = `mcp__${server}__${tool}`
  const ofHost = hostTools?.get(native)
  if (!ofHost) return { name: native, kind: 'other', title: `${server}: ${tool}`, input }
  const { name, kind, title } = ofHost
  return { name, kind, title, input }
}

/** Describes a command. The working directory is given only if it is not the session's folder. */
export function describeCommand(
  command: string,
  at: string | undefined,
  cwd?: string,
): CallDescription & { readonly input: { readonly command: string; readonly cwd?: string } } {
  const elsewhere = at !== undefined && at !== cwd ? { cwd: at } : {}
  return {
    name: commandTool,
    kind: readingOf(command) ?? 'execute',
    title: shortTitle(firstLine(command) || 'Run a command'),
    input: { command, ...elsewhere },
  }
}

/**
 * Describes a change of files. A change that also deletes or moves a file counts as a deletion or a move, not as an
 * edit.
 */
function describeChanges(changes: readonly NativeFileChange[], cwd?: string): CallDescription {
  const paths = changes.flatMap(({ path, kind }) => [path, ...(kind.move_path ? [kind.move_path] : [])])
  const kind = kindOfChanges(changes)
  const [first = '', ...more] = paths
  const verb = { delete: 'Delete', move: 'Move', edit: 'Edit' }[kind]
  const what = more.length === 0 ? shortPath(first, cwd) || 'files' : `${paths.length} files`
  return {
    name: patchTool,
    kind,
    title: shortTitle(`${verb} ${what}`),
    input: { paths, changes: changes.map(({ path, kind: { type }, diff }) => ({ path, type, diff })) },
    locations: paths.map((path) => ({ path })),
  }
}

/** Describes a change of files that is given as the text of a patch. */
export function describePatch(patch: string, cwd: string): CallDescription {
  const headers = [...patch.matchAll(/^\*\*\* (Add File|Update File|Delete File|Move to): (.+)$/gm)]
  const paths = headers.map(([, , path = '']) => resolve(cwd, path.trim()))
  const does = (header: string) => headers.some(([, name]) => name === header)
  const kind = does('Delete File') ? 'delete' : does('Move to') ? 'move' : 'edit'
  const title = paths.length === 1 ? `Edit ${shortPath(paths[0] ?? '', cwd)}` : `Edit ${paths.length} files`
  return { name: patchTool, kind, title: shortTitle(title), input: { paths, patch } }
}

function kindOfChanges(changes: readonly NativeFileChange[]): 'edit' | 'delete' | 'move' {
  if (changes.some(({ kind }) => kind.type === 'delete')) return 'delete'
  return changes.some(({ kind }) => kind.move_path) ? 'move' : 'edit'
}

const collabTitles: Readonly<Record<string, string>> = {
  sendInput: 'Send a message to a subagent',
  sendMessage: 'Send a message to a subagent',
  followupTask: 'Give a subagent more to do',
  resumeAgent: 'Resume a subagent',
  wait: 'Wait for subagents',
  closeAgent: 'Close a subagent',
  interruptAgent: 'Interrupt a subagent',
  listAgents: 'List the subagents',
}

function describeCollab(item: Extract<NativeCallItem, { type: 'collabAgentToolCall' }>): CallDescription {
  const name = item.tool.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  const spawns = item.tool === 'spawnAgent'
  const title = spawns ? firstLine(item.prompt ?? '') || 'Start a subagent' : collabTitles[item.tool]
  return {
    name,
    kind: spawns ? 'subagent' : 'other',
    title: shortTitle(title ?? name),
    input: { ...(item.prompt !== null && { prompt: item.prompt }) },
  }
}

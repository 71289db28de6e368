import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { agentFolder, pathWithNode } from '@parley/adapter-kit/find-program'

/**
 * The types of messages that a release declares itself: scenarios reach only a part of them. Empty for an agent that
 * declares none.
 */
export async function declaredTypes(agent: string, agentsFolder: string): Promise<readonly string[]> {
  if (agent === 'claude') return typesOfSdk(readFileSync(sdkTypes(agentsFolder), 'utf8'))
  return agent === 'codex' ? typesOfCodex(agentsFolder) : []
}

function sdkTypes(agentsFolder: string): string {
  const name = '@anthropic-ai/claude-agent-sdk'
  const installed = join(agentFolder(agentsFolder, 'claude'), 'node_modules', name)
  const require = createRequire(import.meta.url)
  return join(existsSync(installed) ? installed : join(require.resolve(name), '..'), 'sdk.d.ts')
}

/** The names of the messages in the declarations of the Agent SDK: a type, and a subtype of system messages. */
export function typesOfSdk(declarations: string): string[] {
  const text = declarations.replaceAll('\r\n', '\n')
  const blocks = text.matchAll(/^export declare type SDK\w+ = \{\n([\s\S]*?)^\}/gm)
  return [...blocks].flatMap(([, block = '']) => {
    const type = /^ {4}type: '([^']+)';$/m.exec(block)?.[1]
    const subtypes = /^ {4}subtype: (.+);$/m.exec(block)?.[1] ?? ''
    if (type === undefined) return []
    const names = [...subtypes.matchAll(/'([^']+)'/g)].map(([, name]) => `${type}/${name}`)
    return names.length > 0 ? names : [type]
  })
}

/** The notifications, requests and items in the types that Codex generates from its protocol. */
async function typesOfCodex(agentsFolder: string): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-drift-types-'))
  try {
    const program = join(agentFolder(agentsFolder, 'codex'), 'node_modules', '.bin', 'codex')
    const env = { PATH: pathWithNode(process.env.PATH), HOME: folder, TMPDIR: folder }
    const args = ['app-server', 'generate-ts', '--experimental', '--out', folder]
    await promisify(execFile)(program, args, { env, cwd: folder })
    return Object.entries({ ServerNotification: 'method', ServerRequest: 'method', 'v2/ThreadItem': 'type' })
      .flatMap(([file, field]) => {
        const text = readFileSync(join(folder, `${file}.ts`), 'utf8')
        return [...text.matchAll(new RegExp(`"${field}": "([^"]+)"`, 'g'))].map(([, name = '']) =>
          field === 'type' ? `item <${name}>` : name,
        )
      })
      .toSorted()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

import { open } from 'node:fs/promises'
import { isRecord } from '@parley/protocol'
import type { NativeHookCall } from './native-hook.ts'

/** The sandbox permissions that a call requests, in Codex's terms; `unknown` if the transcript does not show them. */
export type SandboxPermissions = string

export const inSandbox: SandboxPermissions = 'use_default'
export const unknownSandbox: SandboxPermissions = 'unknown'

/**
 * The number of bytes that are read from the end of the transcript. When the hook of a call runs, the call is among the
 * last lines.
 */
const tailBytes = 4 * 1024 * 1024

/**
 * The sandbox permissions that a command requests. Neither the hook nor the approval request contains this information.
 * It is in the call as the model wrote it, which Codex writes to the transcript before it runs the hook.
 */
export async function sandboxPermissionsOf({
  transcript_path: path,
  tool_use_id: callId,
}: NativeHookCall): Promise<SandboxPermissions> {
  try {
    const lines = path ? (await tailOf(path)).split('\n') : []
    for (const line of lines.reverse()) {
      const written = line.includes(callId) ? argumentsIn(line, callId) : undefined
      if (written) return permissionsIn(written)
    }
  } catch {}
  return unknownSandbox
}

async function tailOf(path: string): Promise<string> {
  await using file = await open(path)
  const { size } = await file.stat()
  const length = Math.min(size, tailBytes)
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length)
  return buffer.toString('utf8', 0, bytesRead)
}

/** The arguments of the call, if this line of the transcript is that call. */
function argumentsIn(line: string, callId: string): Readonly<Record<string, unknown>> | undefined {
  const { type, payload } = parsed(line) ?? {}
  if (type !== 'response_item' || !isRecord(payload)) return undefined
  if (payload.type !== 'function_call' || payload.call_id !== callId) return undefined
  return parsed(payload.arguments)
}

function parsed(text: unknown): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(String(text))
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

/**
 * The permissions in the arguments of a call. `with_escalated_permissions` is the name of the field in
 * earlier versions of Codex.
 */
function permissionsIn(written: Readonly<Record<string, unknown>>): SandboxPermissions {
  const { sandbox_permissions: asked, with_escalated_permissions: escalated } = written
  if (escalated === true) return 'require_escalated'
  if (asked === undefined || asked === null) return inSandbox
  return typeof asked === 'string' ? asked : unknownSandbox
}

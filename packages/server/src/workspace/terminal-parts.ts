import type { spawn } from '@lydell/node-pty'
import { ParleyError } from '@parley/protocol'
import type { SerializeAddon } from '@xterm/addon-serialize'
import type { Terminal as Screen } from '@xterm/headless'

export type TerminalParts = {
  readonly spawn: typeof spawn
  readonly Screen: typeof Screen
  readonly SerializeAddon: typeof SerializeAddon
}

/**
 * Loads the modules for terminals on first use: a server without terminals starts without them, and the native module
 * is an optional dependency that an installation may leave out. Throws ParleyError `not_supported` if it is missing.
 */
export async function loadTerminalParts(): Promise<TerminalParts> {
  const [{ spawn }, headless, serialize] = await Promise.all([
    import('@lydell/node-pty').catch(refuse),
    import('@xterm/headless'),
    import('@xterm/addon-serialize'),
  ])
  return { spawn, Screen: headless.default.Terminal, SerializeAddon: serialize.default.SerializeAddon }
}

function refuse(cause: unknown): never {
  const name = `@lydell/node-pty-${process.platform}-${process.arch}`
  throw new ParleyError(
    'not_supported',
    `Terminals need the optional package ${name}, which cannot be loaded. Install Parley again with optional dependencies (npm install --include=optional), then restart the server.`,
    { details: { package: name }, cause },
  )
}

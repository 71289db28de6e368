import type { Command } from 'commander'
import type { Context } from './context.ts'
import type { Add, Finish } from './program.ts'

/** The commands about signed-in browsers. */
export function addDevices(
  addToProgram: Add,
  adder: (parent: Command) => Add,
  context: Context,
  finish: Finish,
): void {
  const load = () => import('./commands/devices.ts')
  const devices = addToProgram(
    'devices',
    'list signed-in browsers, and sign them out',
    'parley devices',
    'parley devices revoke dev_01k2',
  )
    .option('--json', 'one browser per line, as JSON')
    .enablePositionalOptions()
    .helpCommand(false)
    .action((options) => finish(load().then(({ listDevices }) => listDevices(options, context))))
  adder(devices)(
    'revoke',
    'sign a browser out: its pages are closed at once, and it needs a new link',
    'parley devices revoke dev_01k2',
    'parley devices revoke --all',
  )
    .argument('[device]', 'its id, or the start of it')
    .option('--all', 'every browser')
    .action((id, options) => finish(load().then(({ revokeDevices }) => revokeDevices(id, options, context))))
}

import { Command, type CommandInput, validationError } from '@parley/protocol'

/**
 * Checks a command before it is sent. An invalid command is refused with the error that the server would
 * return. The build of the console replaces this file, because the page has no schemas.
 */
export function checkCommand(input: CommandInput): CommandInput {
  const parsed = Command.safeParse(input)
  if (!parsed.success) throw validationError('The command', parsed.error)
  return input
}

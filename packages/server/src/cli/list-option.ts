import { Option } from 'commander'

/** An option that may be given several times. */
export function list(flags: string, description: string): Option {
  return new Option(flags, description).argParser((value: string, before: string[] | undefined) => [
    ...(before ?? []),
    value,
  ])
}

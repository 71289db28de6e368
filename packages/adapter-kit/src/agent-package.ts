/** An npm package that contains an agent. */
export type AgentPackage = {
  readonly package: string
  /** The version that is known to work. */
  readonly version: string
  /** The SHA-512 of that version, as written in npm's lock file. A package with a different hash is not installed. */
  readonly integrity?: string
  /** The version that the installed program reports, if it differs from `version`. */
  readonly programVersion?: string
  /** Present if the adapter loads the package into its own process, instead of running its program. */
  readonly library?: {
    /** The path of the agent's program in an installation; undefined if the installation has none. */
    programIn(folder: string): string | undefined
    /** True if this machine has another program that the adapter can use. */
    hasOtherProgram(signal?: AbortSignal): Promise<boolean>
  }
}

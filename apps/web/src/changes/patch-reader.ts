import { createContext, useContext } from 'react'

type ReadPatch = (
  path: string,
  signal: AbortSignal,
) => Promise<{ readonly patch: string; readonly cut: boolean }>

const Reader = createContext<ReadPatch | undefined>(undefined)

/**
 * Provides the function that reads patches. Below a provider, files cannot be marked as viewed, and lines have no
 * remarks. Without a provider, the patches of the open session are shown.
 */
export const PatchReader = Reader

export const usePatchReader = () => useContext(Reader)

import { createContext, useContext } from 'react'

type ReadPatch = (
  path: string,
  signal: AbortSignal,
) => Promise<{ readonly patch: string; readonly cut: boolean }>

const Reader = createContext<ReadPatch | undefined>(undefined)

/**
 * Inside, patches are read with this function, and changes can only be read: files cannot be marked as viewed, and
 * lines have no remarks. Without it, the changes are those of the open session.
 */
export const PatchReader = Reader

export const usePatchReader = () => useContext(Reader)
